// Package safetext makes untrusted text safe to show: shortened, on one line, and without anything that would control a
// terminal or hide from a reader. It imports none of our packages, and any package may import it.
//
// Start with [Acts], which says which characters are never shown unchanged.
package safetext
