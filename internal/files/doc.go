// Package files opens, copies and makes durable the files of a home. It knows nothing of what is in them.
//
// A home is writable by every process of its user, so also by the sessions of agents. A name in it may be a pipe, a
// link, a device, a directory or a file of any length. Open, Read and Create never wait for another process, never
// follow a link in the last part of a path, and fail with *IrregularError for what is no regular file.
package files
