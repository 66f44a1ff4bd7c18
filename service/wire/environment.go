package wire

import (
	"strings"

	"maestro/events"
)

// The prefixes of tokens: of a session's secret, of a user's token, and of a runner's credential.
const (
	SessionTokenPrefix = "mss_"
	UserTokenPrefix    = "msu_"
	RunnerTokenPrefix  = "msr_"
)

// MaySendToken reports whether a token can be sent at all: it is not empty, and has only printable ASCII characters
// without spaces.
func MaySendToken(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// The environment variables of a session.
const (
	EnvSessionID    = "MAESTRO_SESSION_ID"
	EnvProjectID    = "MAESTRO_PROJECT_ID"
	EnvToken        = "MAESTRO_TOKEN"
	EnvAPIURL       = "MAESTRO_API_URL"
	EnvServerURL    = "MAESTRO_SERVER_URL"
	EnvStrategy     = "MAESTRO_STRATEGY"
	EnvManifestPath = "MAESTRO_MANIFEST_PATH"
	// EnvTraceParent has the W3C trace context of a process. It is not one of ours.
	EnvTraceParent = "TRACEPARENT"
)

// EnvCA names a PEM file with the certificates that a client trusts, in place of the system's.
const EnvCA = "MAESTRO_CA"

// SessionEnvironment returns these variables in the order in which they are printed.
func SessionEnvironment() []string {
	return []string{EnvSessionID, EnvProjectID, EnvToken, EnvAPIURL, EnvServerURL, EnvStrategy, EnvManifestPath}
}

// Environment returns a session's variables that hold no secret, for a server. manifest is the path of its manifest, ""
// if unknown.
func Environment(server, project, session string, strategy events.Strategy, manifest string) map[string]string {
	env := map[string]string{
		EnvSessionID: session,
		EnvProjectID: project,
		EnvServerURL: server,
		EnvStrategy:  string(strategy),
	}
	if manifest != "" {
		env[EnvManifestPath] = manifest
	}
	return env
}
