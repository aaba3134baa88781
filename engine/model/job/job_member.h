/* job_member.h - a row of store/job_fields.def as a member of a part of a job. HAND: none, its
 * member is declared by hand. JOB_WORD_*: the columns and functions of an enum, (name, count). */
#ifndef ENGINE_MODEL_JOB_JOB_MEMBER_H
#define ENGINE_MODEL_JOB_JOB_MEMBER_H

#define JOB_WORD_NAME(name, count) name
#define JOB_WORD_COUNT(name, count) count
#define JOB_WORD_TEXT(name, count) name##_name
#define JOB_WORD_FROM(name, count) name##_from_name

#define JOB_MEMBER_TEXT(bytes, member) char member[bytes];
#define JOB_MEMBER_WORD(word, member) enum JOB_WORD_NAME word member;
#define JOB_MEMBER_I64(detail, member) int64_t member;
#define JOB_MEMBER_U64(detail, member) uint64_t member;
#define JOB_MEMBER_UINT(detail, member) unsigned member;
#define JOB_MEMBER_TIME(detail, member) int64_t member;
#define JOB_MEMBER_BOOL(detail, member) bool member;
#define JOB_MEMBER_HAND(detail, member)
#define JOB_MEMBER(kind, detail, member, ...) JOB_MEMBER_##kind(detail, member)

#endif
