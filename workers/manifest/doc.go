// Package manifest is manifest 1.0 (docs/spec/003-manifest-schema.md, "Complete Schema"): what a session is, what it
// works on, and how. It is read strictly, with every fault at once and at its JSON pointer; written in one form only,
// so that its digest means something; generated in one place for the command line and the server; and described by a
// JSON Schema that is made from the same types.
//
// Nothing here touches a file, a network or a clock.
package manifest
