// Package imports holds nothing but a test: who may import whom, as docs/architecture.md says it. The linter says the
// same; this says it where there is only Go.
package imports
