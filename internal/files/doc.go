// Package files opens and copies the files of a home, and makes them durable. It does not interpret their contents.
//
// Every process of a home's user can write to it, including the sessions of agents. A name in it may be a pipe, a link,
// a device, a directory or a file of any length. Open, Read and Create never wait for another process, never follow a
// link in the last part of a path, and fail with *IrregularError for anything but a regular file.
package files
