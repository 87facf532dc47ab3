#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance;

static long get(void) {
    pthread_mutex_lock(&lock);
    long now = balance;
    pthread_mutex_unlock(&lock);
    return now;
}

static void set(long amount) {
    pthread_mutex_lock(&lock);
    balance = amount;
    pthread_mutex_unlock(&lock);
}

/* Meant to be atomic, but gives up the lock between reading and writing. */
static void deposit(long amount) {
    long before = get();
    sched_yield(); /* makes the unlucky moment likely */
    set(before + amount);
}

static void *customer(void *unused) {
    for (int i = 0; i < 20000; i++) deposit(1);
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, customer, NULL);
    pthread_create(&two, NULL, customer, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("40000 deposits of 1; the balance is %s\n", balance == 40000 ? "right" : "wrong");
}
