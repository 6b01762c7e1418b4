/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether this build has sanitizers. The leak sanitizer stops the process by ptrace() from another process, so such a
 * build allows ptrace() and core dumps, and refuses forbidden system calls instead of killing the process.
 */
#ifndef SANDBOX_SANITIZER_H
#define SANDBOX_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANDBOX_HAS_SANITIZER = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANDBOX_HAS_SANITIZER = 1 };
#else
enum { SANDBOX_HAS_SANITIZER = 0 };
#endif
#else
enum { SANDBOX_HAS_SANITIZER = 0 };
#endif

#endif
