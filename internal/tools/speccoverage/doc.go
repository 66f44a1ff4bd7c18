// Package speccoverage checks docs/spec-coverage.md: every test and script that the page names exists, and its sections
// are those of docs/spec.
package speccoverage
