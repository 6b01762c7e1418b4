/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Setup: reads the options of all modules from the configuration, and loads rules and datasets, for the daemon, replay
 * and `sluice check`.
 *
 * Errors:  functions return 0 or -errno. They write the text of the error to `error`, and report mistakes in the
 *          configuration or in the rules to `diag`.
 * Threads: the main thread, and the thread of a reload.
 */
#ifndef SLUICE_SETUP_H
#define SLUICE_SETUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/capture.h"
#include "sluice/config.h"
#include "sluice/dataset.h"
#include "sluice/diag.h"
#include "sluice/engine_limits.h"
#include "sluice/file_store.h"
#include "sluice/output.h"
#include "sluice/pipeline.h"
#include "sluice/rule.h"
#include "sluice/worker.h"

struct block_lists_options;
struct datasets;
struct firewall_options;
struct rule_list;
struct rule_names;
struct rule_variables;
struct ruleset;

/* --- Settings ------------------------------------------------------------------------------------- */

extern const struct setting dataset_settings[]; /* settings of one dataset (an entry of `datasets`) */

/* Settings of rules and datasets. */
struct rules_options {
    const char *const *files;      /* rule-files */
    struct rule_list_options list; /* only the members that name files are set */
    struct datasets_options datasets;
    const char *const *action_order;
    bool mistakes_are_fatal; /* engine.init-failure-fatal */
    bool cache;              /* cache compiled patterns in files */
    const char *cache_path;
    uint64_t cache_max_age_seconds, cache_max_bytes;
};
extern const struct setting rules_settings[];

/* Settings of firewall rules: firewall.*. */
struct firewall_rules_options {
    bool enabled;
    const char *rule_path;
    const char *const *rule_files; /* NULL: none */
};
extern const struct setting firewall_rules_settings[];
/* Writes the path of a file of firewall rules. Returns false if there is no file with this index. */
bool setup_firewall_file(const struct config *config, size_t index, char out[PATH_MAX]);

/* Settings of the inspection that belong to no single module. */
struct inspection_options {
    size_t app_memcap, host_memcap;
    enum setting_auto stream_inline;
    bool bypass_at_depth;
    bool drop_undecodable;
    uint32_t midstream_grace_seconds;
    enum checksum_checks checksums; /* used by a replay only */
};
extern const struct setting inspection_settings[];

/* Settings file-store.* and the options of fileinfo events. */
struct file_store_settings {
    bool store_section, store_enabled; /* files are stored if both are set */
    const char *store_dir;
    bool store_all, store_magic;
    const char *const *store_digests;
    uint64_t store_limit;
    uint64_t stream_depth; /* 0: not set */
    bool event_magic;
    const char *const *event_digests;
};
extern const struct setting file_settings[];

/* Reports conflicts between settings to `diag`, such as the verdict repeat without a mark, or a route to a queue in
 * queue.numbers. */
void setup_check_conflicts(const struct config *config, struct diag *diag);
void setup_check_outputs(const struct config *config, struct diag *diag); /* reports mistakes in outputs.* */

/* --- Queues --------------------------------------------------------------------------------------- */

/* Reads the queues of the configuration, at most `max`, with the options of each. */
int setup_queue_options(const struct config *config, struct nfqueue_options *out, size_t max, size_t *count,
                        char error[ENGINE_ERROR_SIZE]);
/* Whether packets are captured from interfaces, passively (capture.method: af-packet). */
bool setup_is_sensor(const struct config *config);
/* Reads the queues like setup_queue_options(), at most CAPTURE_MAX_QUEUES, and sets the options that depend on the
 * sluice table. For a sensor: one entry for each ring, with the number of the ring. */
int setup_plan_queues(const struct config *config, const struct firewall_options *firewall, struct nfqueue_options *out,
                      size_t *count, char error[ENGINE_ERROR_SIZE]);
/* Reads the options of the sluice table: nft.*, and the settings queue.* that the table depends on. Strings are owned
 * by the configuration. */
int setup_firewall_options(const struct config *config, struct firewall_options *out, char error[ENGINE_ERROR_SIZE]);
/* Reads the mode of a queue from its entry in `queues`, otherwise from ips.mode. */
void setup_queue_mode(const struct config *config, uint16_t queue, struct queue_mode *out);
/* Returns whether queue.conntrack of this queue is `no`. */
bool setup_conntrack_is_off(const struct config *config, uint16_t queue);
/* Returns for how many seconds after the start the queue requests conntrack data; 0: always. */
int64_t setup_conntrack_seconds(const struct config *config, uint16_t queue);

/* --- Options of modules --------------------------------------------------------------------------- */

/* Reads the options of one of `workers` pipelines; each gets its share of the memcaps. Does not set out->checksums and
 * out->kernel_checksums, which differ between daemon and replay. pipeline_shared_init() takes ownership of out->app. */
int setup_pipeline_options(const struct config *config, unsigned workers, bool inline_mode,
                           struct pipeline_options *out, struct diag *diag);
/* Reads the options of a pipeline of a daemon, which is inline or a sensor, and prints the diagnostics. */
int setup_daemon_options(const struct config *config, unsigned workers, struct pipeline_options *out,
                         char error[ENGINE_ERROR_SIZE]);

/* Reads the options of application protocols and of files in their transactions. The caller frees the result with
 * app_options_clear() unless pipeline_shared_init() took it. */
int setup_app_options(const struct config *config, unsigned workers, struct app_options *out, struct diag *diag);
void setup_app_events(const struct config *config, struct eve_options *out);
void setup_flow_options(const struct config *config, unsigned workers, struct flow_options *out);
void setup_stream_options(const struct config *config, unsigned workers, bool inline_mode, struct stream_options *out);
void setup_exception_policies(const struct config *config, bool inline_mode,
                              enum exception_policy out[EXCEPTION_COUNT]);
/* Does not set out->stream_inspection_window, which must be stream's value. */
void setup_detector_options(const struct config *config, struct detector_options *out);
/* Reads the time budgets of packets and rules. Only a daemon uses them: events of a replay must not depend on the
 * clock. */
void setup_budget_options(const struct config *config, struct budget_options *out);
int setup_action_order(const struct config *config, enum rule_action order[4], char error[ENGINE_ERROR_SIZE]);
void setup_policy_options(const struct config *config, struct policy_options *out);

/* Checks whether the log folder exists or can be created, that is, whether its nearest existing parent folder is
 * writable. Checks nothing if no event file is written. `log_dir`: --log-dir, or NULL. */
int setup_check_log_folder(const struct config *config, const char *log_dir, char error[ENGINE_ERROR_SIZE]);
int setup_eve_path(const struct config *config, const char *log_dir, char *out, size_t size,
                   char error[ENGINE_ERROR_SIZE]);
void setup_eve_options(const struct config *config, struct eve_options *out);
/* Memory for the strings of the output options, which must stay valid until output_open() returns. */
struct setup_outputs {
    struct output_destination list[OUTPUT_MAX_DESTINATIONS];
    size_t count;
    char paths[OUTPUT_MAX_DESTINATIONS][4096], eve_path[4096], pcap_dir[4096], chain_dir[4096];
};
/* Reads the options of the event file and of the further outputs (outputs.*). Returns 0, or -errno with a line in
 * `error`. */
int setup_output_options(const struct config *config, const char *log_dir, struct output_options *out,
                         struct setup_outputs *outputs, char error[ENGINE_ERROR_SIZE]);

void setup_file_options(const struct config *config, struct file_options *out);
void setup_file_depth(const struct config *config, struct stream_options *stream);
/* Allocates the file store; the caller starts and frees it. *out is NULL after an error and when no file store is
 * configured. */
int setup_file_store(struct file_store **out, const struct config *config, const char *log_dir, unsigned workers,
                     bool lossless, char error[ENGINE_ERROR_SIZE]);

/* --- Rules ---------------------------------------------------------------------------------------- */

/* Returns true if a name in rule-files is a pattern for several files (with `*`, `?` or `[`) and no file has this name.
 */
bool setup_is_pattern(const char *path);
/* Parses the rules of rule-files and then those of --rules. The caller frees the list, which counts skipped rules and
 * files. */
int setup_parse_rules(struct rule_list **out, const struct config *config, const char *const *rule_files, size_t count,
                      struct diag *diag);
/* Compiles the rules. On success the ruleset owns the list. */
int setup_compile_rules(struct ruleset **out, struct rule_list *list, const struct config *config, struct diag *diag);
/* Compiles the rules like setup_compile_rules(), but without databases, which takes much less time; for
 * ruleset_analyse(). */
int setup_group_rules(struct ruleset **out, struct rule_list *list, const struct config *config, struct diag *diag);

struct rule_load_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    struct rule_names *names; /* numbers of variables and bits that outlive a ruleset; NULL: each ruleset has its own */
    const struct ruleset *before; /* the ruleset that the new one replaces; NULL: none */
    bool after_death;  /* a previous engine died and packets wait in the queues: ignore engine.init-failure-fatal */
    bool no_databases; /* as in struct ruleset_options */
    bool needs_rules;  /* fail with -EINVAL when rules were skipped and no rule is left */
};
/* Parses and compiles the rules. Returns -ENOENT when a file cannot be read. Ignores the members of `load` from
 * `before` on. */
int setup_load_rules(struct ruleset **out, const struct rule_load_options *load, struct diag *diag);
/* Loads a ruleset. Skips rules and files that cannot be loaded; with engine.init-failure-fatal it fails instead. */
int setup_load_ruleset(struct ruleset **out, const struct rule_load_options *load, struct diag *diag,
                       char error[ENGINE_ERROR_SIZE]);

/* Logs how many rules and files were skipped, and where to find the reasons; logs nothing when there were none. */
void setup_log_skipped_rules(const struct rule_list *rules);
/* Writes an engine event with the counts, and one for each of the first 1,000 skipped rules and files. Writes nothing
 * if there were none. */
void setup_report_skipped_rules(const struct rule_list *rules, struct output *output);

enum {
    SELECTED_SEVERITIES = 3,
    SELECTED_EACH = 20,
    SELECTED_DIAGNOSTICS = SELECTED_SEVERITIES * SELECTED_EACH,
};
/* Selects the first errors, then the first warnings, then the first unsupported features, each with its notes. Returns
 * the number of entries in `out`. */
size_t setup_select_diagnostics(const struct diag *diag, const struct diag_entry *out[SELECTED_DIAGNOSTICS]);
/* Prints the selected diagnostics to stderr. */
void setup_print_diagnostics(const struct diag *diag);

/* Reads `vars`; the caller frees the result. 0 or -ENOMEM. */
int setup_rule_variables(struct rule_variables **out, const struct config *config);

/* --- Datasets ------------------------------------------------------------------------------------- */

/* Opens the datasets of the configuration. Shares the datasets of the ruleset `before` (NULL: none), so that entries
 * that rules have added are kept (datasets_inherit()). Errors of a dataset are reported to `diag`. 0 or -ENOMEM. */
int setup_open_datasets(struct datasets **out, const struct config *config, const struct ruleset *before,
                        struct diag *diag);
/* Writes all datasets with `state` or `save` to their files, to be called after all workers have stopped. Logs errors,
 * and returns the first one. `ruleset` may be NULL. */
int setup_save_datasets(const struct ruleset *ruleset);

/* --- Lists of hosts and networks to block --------------------------------------------------------- */

/* Fills the options from nft.blocklist and geoip-database. Strings belong to the configuration; the path of the folder
 * is written to `folder`, which has PATH_MAX bytes. */
void setup_block_lists(struct block_lists_options *out, const struct config *config, char *folder);

#endif
