// Package blank removes secrets from text before it is stored: the values that it is told, as they are and as JSON or a
// URL writes them, and what has the shape of a well-known token, of a JSON web token, or of a private key.
//
// It replaces each one by "[blanked]". It cannot find a secret that it does not know, nor one that was encoded or
// split: it prevents accidents, not a determined agent.
//
// It imports the standard library only. Start with [Of] and [Secrets.Writer].
package blank
