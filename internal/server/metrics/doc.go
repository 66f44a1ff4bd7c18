// Package metrics measures a running server, and shows the figures in the format of Prometheus. Everything is
// registered with a registry of the server's own. The labels of a figure have values that the code lists; no caller
// chooses one, and no label has an id, so the number of figures is bounded.
package metrics
