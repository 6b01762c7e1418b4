/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into the daemon, so that packets can kill its engine: what is searched for patterns and holds POISON-DIE is
 * a fault, and POISON-HANG is never finished; POISON-EXEC does what an intruder would, and starts a program.
 */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <hs/hs.h>

typedef hs_error_t scan_function(const hs_database_t *, const char *, unsigned, unsigned, hs_scratch_t *,
                                 match_event_handler, void *);

hs_error_t hs_scan(const hs_database_t *db, const char *data, unsigned length, unsigned flags, hs_scratch_t *scratch,
                   match_event_handler on_event, void *context)
{
    scan_function *scan = (scan_function *)dlsym(RTLD_NEXT, "hs_scan");

    if (memmem(data, length, "POISON-DIE", 10))
        raise(SIGSEGV);
    if (memmem(data, length, "POISON-EXEC", 11))
        execl("/bin/true", "true", (char *)NULL);
    while (memmem(data, length, "POISON-HANG", 11))
        pause();
    return scan(db, data, length, flags, scratch, on_event, context);
}
