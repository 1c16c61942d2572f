/* Threads, the few calls that the tests need. */
#ifndef TEST_THREAD_H
#define TEST_THREAD_H

typedef struct {
  void (*run)(void *data);
  void *data;
} thread_task;

#ifdef _WIN32
#include <windows.h>

typedef HANDLE thread;

static DWORD WINAPI thread_main(LPVOID task) {
  ((thread_task *)task)->run(((thread_task *)task)->data);
  return 0;
}
static void thread_start(thread *made, thread_task *task) {
  *made = CreateThread(NULL, 0, thread_main, task, 0, NULL);
}
static void thread_join(thread made) {
  WaitForSingleObject(made, INFINITE);
  CloseHandle(made);
}
static void sleep_ms(unsigned milliseconds) { Sleep(milliseconds); }
static unsigned long long now_ms(void) { return GetTickCount64(); }
#else
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef pthread_t thread;

static void *thread_main(void *task) {
  ((thread_task *)task)->run(((thread_task *)task)->data);
  return NULL;
}
static void thread_start(thread *made, thread_task *task) {
  if (pthread_create(made, NULL, thread_main, task)) abort();
}
static void thread_join(thread made) { pthread_join(made, NULL); }
static void sleep_ms(unsigned milliseconds) {
  struct timespec time;
  time.tv_sec = (time_t)(milliseconds / 1000);
  time.tv_nsec = (long)(milliseconds % 1000) * 1000000L;
  nanosleep(&time, NULL);
}
static unsigned long long now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (unsigned long long)time.tv_sec * 1000 + (unsigned long long)time.tv_nsec / 1000000;
}
#endif

#endif
