// Package imports contains only tests of the source itself: packages import only what docs/architecture.md allows;
// names in comments exist and citations lead somewhere; NOTICE names every linked module; the recipes of
// CONTRIBUTING.md are true; the command line and the server leave decisions to the packages that make them; and lines
// and literals have their form.
package imports
