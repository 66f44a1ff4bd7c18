// Package imports holds nothing but tests of the source itself: who may import whom, as docs/architecture.md says it;
// that comments name what is there and citations lead somewhere, that NOTICE names what is linked, that the recipes of
// CONTRIBUTING.md are true, that the command line and the server leave decisions to those who make them, and how lines
// and literals are written.
package imports
