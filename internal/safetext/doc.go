// Package safetext shows text that somebody else wrote: shortened, on one line, and without what would act on a
// terminal or hide from a reader. It imports nothing of ours, and any package may import it.
//
// Start with [Acts], which says what is never shown as it is.
package safetext
