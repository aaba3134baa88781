/* options.h - the configuration as it holds: the file, overridden by the command line. */
#ifndef APPLIANCE_OPTIONS_H
#define APPLIANCE_OPTIONS_H

#include "appliance/appliance.h"
#include "appliance/config.h"

/* The file is optional for a simulation, which ignores its hosts. NULL: err says why. */
struct config *options_config(const struct appliance_options *options, struct err *err);

#endif
