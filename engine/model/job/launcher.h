/* launcher.h - names of launchers: the Pods in the API. A launcher is one stay of one guest on
 * one node: a guest that comes back gets another. Pure. */
#ifndef ENGINE_MODEL_JOB_LAUNCHER_H
#define ENGINE_MODEL_JOB_LAUNCHER_H

enum { LAUNCHER_POD_MAX = 254, LAUNCHER_UID_MAX = 37 };

/* "virt-launcher-NAME-xxxxx". stay: uid of the job that brought (or brings) it there, "" if none.
 */
void launcher_pod(const char *guest_name, const char *guest_uuid, const char *node,
                  const char *stay, char out_name[static LAUNCHER_POD_MAX]);
void launcher_uid(const char *guest_uuid, const char *node, const char *stay,
                  char out_uid[static LAUNCHER_UID_MAX]);

#endif
