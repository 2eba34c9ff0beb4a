#include "CConcurrency.h"

// swift-runtime: stdlib/public/Concurrency, `swift_task_enqueueGlobal_hook`: a hook gets the job and
// the function that would have enqueued it. Swift's calling convention, which clang knows by name.
#define SWIFT_CALL __attribute__((swiftcall))

typedef SWIFT_CALL void (*enqueue_function)(void *job);
typedef SWIFT_CALL void (*enqueue_hook)(void *job, enqueue_function original);

extern enqueue_hook swift_task_enqueueGlobal_hook;
extern SWIFT_CALL void swift_task_enqueueGlobal(void *job);

static concurrency_taker offered;
// Whether the calling thread hands a job on that nobody shall take.
static _Thread_local bool passing;

static SWIFT_CALL void offer(void *job, enqueue_function original) {
    if (!passing && offered(job)) return;
    original(job);
}

void concurrency_offer_jobs(concurrency_taker taker) {
    offered = taker;
    __atomic_store_n(&swift_task_enqueueGlobal_hook, offer, __ATOMIC_RELEASE);
}

void concurrency_enqueue(void *job) {
    passing = true;
    swift_task_enqueueGlobal(job);
    passing = false;
}
