// A GPU in one thread of the CPU, for tests. In: a kernel compiled by g++, a grid, buffers.
// Out: the kernel's effects, or a message about what a real GPU would not forgive.
//
// Every GPU thread is a fiber with a stack of its own. A fiber runs until it waits (a barrier of its
// block, an exchange in its warp) or ends; blocks run one after the other. The kernel is compiled
// with -fsanitize=thread, and the functions that this option calls for every access are the ones at
// the end of this file: they check that the access is inside a buffer, and that no other thread has
// used the same word since the last barrier between the two.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <vector>

struct Index { unsigned x, y, z; };
extern "C" {
Index gpu_thread, gpu_block, gpu_block_size, gpu_grid_size;
extern char __start_gpu_shared[] __attribute__((weak));
extern char __stop_gpu_shared[] __attribute__((weak));
}

namespace {

enum State { READY, AT_BARRIER, IN_WARP, DONE };
constexpr int WARP = 32;
constexpr size_t STACK = 64 * 1024;

struct Fiber {
  ucontext_t context;
  State state;
  int line;
  uint64_t sent, received;
  int lane_mask;
};

struct Buffer {
  uintptr_t low, high;
  bool shared, writable;
  size_t first_word;
};

// Who used a word last. `when` counts the barriers of the block, `warp_when` those of the warp.
struct Use {
  int block = -1, thread = -1, when = -1, warp_when = -1;
  bool many = false;
};
struct Word {
  Use writer, reader;
  bool written = false;
};

std::vector<Fiber> fibers;
std::vector<Buffer> buffers;
std::vector<Word> words;
std::vector<int> warp_epochs;
char* stacks;
ucontext_t scheduler;
int current, block_number, epoch;
char message[512];
bool failed;
void (*kernel)(void**);
void** arguments;

void fail(const char* format, ...) {
  if (failed) return;
  failed = true;
  int n = snprintf(message, sizeof message, "block %u, thread %u: ", gpu_block.x, gpu_thread.x);
  va_list list;
  va_start(list, format);
  vsnprintf(message + n, sizeof message - n, format, list);
  va_end(list);
}

void wait_as(State state, int line) {
  Fiber& fiber = fibers[current];
  fiber.state = state;
  fiber.line = line;
  swapcontext(&fiber.context, &scheduler);
}

void run_fiber() {
  kernel(arguments);
  wait_as(DONE, 0);
}

void start(int number) {
  Fiber& fiber = fibers[number];
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stacks + STACK * number;
  fiber.context.uc_stack.ss_size = STACK;
  fiber.context.uc_link = &scheduler;
  makecontext(&fiber.context, run_fiber, 0);
  fiber.state = READY;
}

void resume(int number) {
  current = number;
  gpu_thread = {(unsigned)number, 0, 0};
  swapcontext(&scheduler, &fibers[number].context);
}

// Let a warp go on if all of its threads wait at the same line. Returns whether it went on.
bool release_warp(int warp, int n_threads) {
  const int low = warp * WARP, high = low + WARP < n_threads ? low + WARP : n_threads;
  for (int i = low; i < high; ++i)
    if (fibers[i].state != IN_WARP || fibers[i].line != fibers[low].line) return false;
  if (high - low < WARP && fibers[low].lane_mask) {
    fail("line %d: an exchange in a warp of %d threads", fibers[low].line, high - low);
    return false;
  }
  for (int i = low; i < high; ++i) {
    fibers[i].received = fibers[low + ((i - low) ^ fibers[i].lane_mask)].sent;
    fibers[i].state = READY;
  }
  ++warp_epochs[warp];
  return true;
}

void release_block(int n_threads) {
  int waiting = -1, done = -1, in_warp = -1;
  for (int i = 0; i < n_threads; ++i) {
    if (fibers[i].state == DONE) done = i;
    if (fibers[i].state == IN_WARP) in_warp = i;
    if (fibers[i].state != AT_BARRIER) continue;
    if (waiting >= 0 && fibers[i].line != fibers[waiting].line)
      return fail("threads wait at different barriers, lines %d and %d", fibers[i].line,
                  fibers[waiting].line);
    waiting = i;
  }
  if (in_warp >= 0)
    return fail("line %d: a warp waits for threads that are elsewhere", fibers[in_warp].line);
  if (done >= 0)
    return fail("line %d: a barrier that thread %d never reaches", fibers[waiting].line, done);
  for (int i = 0; i < n_threads; ++i) fibers[i].state = READY;
  ++epoch;
}

void run_block(int n_threads, bool backwards) {
  const size_t shared = __stop_gpu_shared - __start_gpu_shared;
  if (shared) memset(__start_gpu_shared, 0xff, shared);
  for (const Buffer& b : buffers)
    if (b.shared)
      for (size_t w = 0; w < (b.high - b.low + 3) / 4; ++w) words[b.first_word + w] = Word();
  ++epoch;
  for (int i = 0; i < n_threads; ++i) start(i);
  while (!failed) {
    for (int k = 0; k < n_threads && !failed; ++k) {
      const int i = backwards ? n_threads - 1 - k : k;
      if (fibers[i].state == READY) resume(i);
    }
    bool released = false, all_done = true;
    for (int w = 0; w * WARP < n_threads && !failed; ++w) released |= release_warp(w, n_threads);
    for (int i = 0; i < n_threads; ++i) all_done &= fibers[i].state == DONE;
    if (all_done) return;
    if (!released && !failed) release_block(n_threads);
  }
}

bool is_ordered(const Use& earlier) {
  if (earlier.block < 0) return true;
  if (earlier.block != block_number) return false;
  if (earlier.when != epoch) return true;
  if (!earlier.many && earlier.thread == current) return true;
  const int warp = current / WARP;
  return !earlier.many && earlier.thread / WARP == warp && earlier.warp_when != warp_epochs[warp];
}

void check(uintptr_t at, size_t size, bool writes) {
  if (failed) return;
  const uintptr_t low = (uintptr_t)stacks;
  if (at >= low && at < low + STACK * fibers.size()) return;
  for (const Index* i : {&gpu_thread, &gpu_block, &gpu_block_size, &gpu_grid_size})
    if (at - (uintptr_t)i < sizeof(Index)) return;
  const Buffer* buffer = nullptr;
  for (const Buffer& b : buffers)
    if (at >= b.low && at + size <= b.high) buffer = &b;
  if (!buffer) return fail("%s of %zu bytes outside of every buffer", writes ? "write" : "read", size);
  if (writes && !buffer->writable) return fail("write to an input");
  const Use now = {block_number, current, epoch, warp_epochs[current / WARP]};
  for (uintptr_t p = at & ~(uintptr_t)3; p < at + size; p += 4) {
    Word& word = words[buffer->first_word + (p - buffer->low) / 4];
    if (buffer->shared && !writes && !word.written) return fail("read of shared memory never written");
    // Neighbours of less than a word share its record, so only whole words tell about races.
    if (size >= 4 && (!is_ordered(word.writer) || (writes && !is_ordered(word.reader))))
      return fail("race with block %d, thread %d", word.writer.block, word.writer.thread);
    if (writes) {
      word.writer = now;
      word.written = true;
      word.reader = Use();
    } else {
      const bool same = word.reader.block == now.block && word.reader.when == now.when;
      const bool many = same && (word.reader.many || word.reader.thread != now.thread);
      word.reader = now;
      word.reader.many = many;
    }
  }
}

}  // namespace

extern "C" {

void gpu_barrier(int line) { wait_as(AT_BARRIER, line); }

uint64_t gpu_exchange(uint64_t value, int lane_mask, int line) {
  fibers[current].sent = value;
  fibers[current].lane_mask = lane_mask;
  wait_as(IN_WARP, line);
  return fibers[current].received;
}

// Run a kernel on `blocks` blocks of `threads` threads. `ranges` are triples (address, bytes,
// writable). Returns null, or what went wrong.
const char* gpu_launch(void (*entry)(void**), void** args, unsigned blocks, unsigned threads,
                       const uint64_t* ranges, int n_ranges, int backwards) {
  failed = false;
  kernel = entry;
  arguments = args;
  gpu_grid_size = {blocks, 1, 1};
  gpu_block_size = {threads, 1, 1};
  if (!stacks) stacks = (char*)aligned_alloc(4096, STACK * 1024);
  fibers.resize(threads);
  warp_epochs.assign((threads + WARP - 1) / WARP, 0);
  buffers.clear();
  size_t n_words = 0;
  auto add = [&](uintptr_t low, size_t bytes, bool shared, bool writable) {
    buffers.push_back({low, low + bytes, shared, writable, n_words});
    n_words += (bytes + (low & 3) + 3) / 4 + 1;
  };
  const size_t shared = __stop_gpu_shared - __start_gpu_shared;
  if (shared) add((uintptr_t)__start_gpu_shared, shared, true, true);
  for (int i = 0; i < n_ranges; ++i)
    add(ranges[3 * i], ranges[3 * i + 1], false, ranges[3 * i + 2] != 0);
  words.assign(n_words, Word());
  for (unsigned b = 0; b < blocks && !failed; ++b) {
    block_number = backwards ? (int)(blocks - 1 - b) : (int)b;
    gpu_block = {(unsigned)block_number, 0, 0};
    run_block((int)threads, backwards);
  }
  return failed ? message : nullptr;
}

#define HOOKS(n)                                                                  \
  void __tsan_read##n(void* p) { check((uintptr_t)p, n, false); }                 \
  void __tsan_write##n(void* p) { check((uintptr_t)p, n, true); }                 \
  void __tsan_unaligned_read##n(void* p) { check((uintptr_t)p, n, false); }       \
  void __tsan_unaligned_write##n(void* p) { check((uintptr_t)p, n, true); }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void* p, unsigned long n) { check((uintptr_t)p, n, false); }
void __tsan_write_range(void* p, unsigned long n) { check((uintptr_t)p, n, true); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}
