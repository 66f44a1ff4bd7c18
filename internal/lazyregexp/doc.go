// Package lazyregexp compiles regular expressions when they are first needed. Each run of the command line initialises
// every package of the binary, and needs hardly any of their expressions.
//
// It imports the standard library only.
package lazyregexp
