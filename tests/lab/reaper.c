/* reaper.c - reaper PIDFILE COMMAND...: runs COMMAND and buries every process it leaves behind.
 *
 * QEMU is daemonized by libvirtd, so its parent is PID 1, and libvirtd waits until a dead QEMU has
 * vanished. In a container PID 1 is often no init and leaves zombies for seconds, which would be
 * added to every migration. As a child subreaper this program takes PID 1's place. It stays until
 * the last of them is gone: a libvirtd that was killed leaves its guests running.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_pid(const char *file, pid_t pid)
{
    FILE *out = fopen(file, "w");
    if (out == NULL || fprintf(out, "%d\n", (int)pid) < 0 || fclose(out) != 0) {
        perror(file);
        return 1;
    }
    return 0;
}

static int bury_all(void)
{
    for (;;) {
        int status = 0;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno == ECHILD)
            return 0;
        if (pid > 0 && WIFSIGNALED(status))
            fprintf(stderr, "reaper: %d ended by signal %d\n", (int)pid, WTERMSIG(status));
        else if (pid > 0)
            fprintf(stderr, "reaper: %d ended with status %d\n", (int)pid, WEXITSTATUS(status));
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: reaper PIDFILE COMMAND [ARGUMENT]...\n");
        return 2;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        perror("reaper: prctl");
        return 1;
    }
    pid_t pid = fork();
    if (pid < 0) {
        perror("reaper: fork");
        return 1;
    }
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    return write_pid(argv[1], pid) | bury_all();
}
