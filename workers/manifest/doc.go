// Package manifest implements manifest 1.0 (docs/spec/003-manifest-schema.md, "Complete Schema"): what a session is,
// what it works on, and how. Manifests are parsed strictly, and all faults are reported at once, each at its JSON
// pointer. There is one canonical form, so that the digest is meaningful. One generator serves the command line and the
// server, and the JSON Schema is generated from the same types.
//
// The package uses no files, network or clock.
package manifest
