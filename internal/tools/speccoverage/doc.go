// Package speccoverage holds docs/spec-coverage.md to what there is: each test and each script that the page names
// exists, and its sections are those of docs/spec.
package speccoverage
