// The place where Swift's runtime lets a process take the jobs of its global executor.

#ifndef C_CONCURRENCY_H
#define C_CONCURRENCY_H

#include <stdbool.h>

/// Takes a job on the thread that enqueues it, or leaves it to the global executor.
typedef bool (*concurrency_taker)(void *job);

/// From now on every job for the global executor is offered to `taker`; once in a process.
void concurrency_offer_jobs(concurrency_taker taker);

/// Hands a job to the global executor without offering it.
void concurrency_enqueue(void *job);

#endif
