package wire

import "maestro/events"

// What tokens begin with: a session's secret, and a user's token.
const (
	SessionTokenPrefix = "mss_"
	UserTokenPrefix    = "msu_"
)

// The variables that a session finds in its environment.
const (
	EnvSessionID    = "MAESTRO_SESSION_ID"
	EnvProjectID    = "MAESTRO_PROJECT_ID"
	EnvToken        = "MAESTRO_TOKEN"
	EnvAPIURL       = "MAESTRO_API_URL"
	EnvServerURL    = "MAESTRO_SERVER_URL"
	EnvStrategy     = "MAESTRO_STRATEGY"
	EnvManifestPath = "MAESTRO_MANIFEST_PATH"
)

// SessionEnvironment are these variables in the order in which they are printed.
func SessionEnvironment() []string {
	return []string{EnvSessionID, EnvProjectID, EnvToken, EnvAPIURL, EnvServerURL, EnvStrategy, EnvManifestPath}
}

// Environment returns the variables of a session at a server that hold no secret. manifest is where its manifest lies,
// "" if that is not known.
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
