// Package speccoverage holds docs/spec-coverage.md to what there is: each test and each script that the page names
// exists.
package speccoverage
