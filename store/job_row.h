/* job_row.h - the row of table jobs, in the parts of job_fields.def: text for words, numbers for
 * numbers. Key: uid. Text pointers as in row_types.h. */
#ifndef STORE_JOB_ROW_H
#define STORE_JOB_ROW_H

#include <stdbool.h>
#include <stdint.h>

#define STORE_MEMBER_TEXT(detail, member) const char *member;
#define STORE_MEMBER_WORD(detail, member) const char *member;
#define STORE_MEMBER_I64(detail, member) int64_t member;
#define STORE_MEMBER_U64(detail, member) int64_t member;
#define STORE_MEMBER_UINT(detail, member) int64_t member;
#define STORE_MEMBER_TIME(detail, member) int64_t member;
#define STORE_MEMBER_BOOL(detail, member) bool member;
#define STORE_MEMBER_HAND(as, member) STORE_MEMBER_##as(, member)
#define STORE_MEMBER(kind, detail, member, ...) STORE_MEMBER_##kind(detail, member)

struct store_job {
#define IDENTITY_FIELD STORE_MEMBER
#include "store/job_fields.def"
    struct {
#define REQUEST_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } request;
    struct {
#define TIMES_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } times;
    struct {
#define WAIT_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } wait;
    struct {
#define PLACEMENT_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } placement;
    struct {
#define CALL_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } call;
    struct {
#define ABORT_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } abort;
    struct {
#define RESOLUTION_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } resolution;
    struct {
#define MONITOR_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } monitor;
    struct {
#define STREAM_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } stream;
    struct {
#define RECOVERY_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } recovery;
    struct {
#define USERPAUSE_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } userpause;
    struct {
#define CARRY_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } carry;
    struct {
#define RESULT_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } result;
    struct {
#define FINAL_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } final;
    struct {
#define FORECAST_FIELD STORE_MEMBER
#include "store/job_fields.def"
    } forecast;
};

#endif
