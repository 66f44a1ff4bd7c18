// Package damage harms copies of a real home at random and holds the server to what docs/operations.md says: each
// fault is noticed or proven harmless, nothing that could be read before is lost, and each has a way back. It holds
// tests only.
package damage
