package doctor

// Severity says how much a finding matters.
type Severity string

// The severities. Only errors and warnings say that something is wrong.
const (
	Error   Severity = "error"   // something does not work, or data is at risk
	Warning Severity = "warning" // it will become an error, or somebody has to act
	Info    Severity = "info"    // good to know
	OK      Severity = "ok"      // a check that found nothing

	NotChecked Severity = "not checked" // a check that could not be made: there is no server, or no home
)

// Kind is what a check can find.
type Kind struct {
	// ID never changes: programs match on it.
	ID       string
	Severity Severity
	// About says what it means, for the page that lists all kinds.
	About string
}

// The kinds of findings about the connection.
var (
	environment = &Kind{
		"environment", Error,
		"the environment does not name a server or a credential that can be used",
	}
	serverStopped = &Kind{"server-stopped", Error, "no server runs on the home"}
	serverKilled  = &Kind{
		"server-killed", Error,
		"the home's server ended without a clean stop, and left `server.json`",
	}
	serverReads = &Kind{
		"server-read-only", Error,
		"`maestro serve --read-only` reads the home, and its address is not set",
	}
	serverStarting = &Kind{
		"server-starting", Warning,
		"a server holds the home and does not listen yet, or not any more",
	}
	serverSilent   = &Kind{"server-silent", Error, "nothing answers at the server's address, or not in time"}
	serverStranger = &Kind{"server-stranger", Error, "another program answers at the server's address"}
	serverInsecure = &Kind{
		"server-insecure", Error,
		"something answers at the server's address, and no secure connection to it can be made",
	}
	serverBusy   = &Kind{"server-busy", Warning, "the server is too busy to identify itself"}
	tokenRefused = &Kind{"token-refused", Error, "the server does not accept the credential"}
	limited      = &Kind{"limited", Info, "the caller may not see everything, so some checks were left out"}
)

// The kinds of findings about the server.
var (
	versionSkew  = &Kind{"version-skew", Warning, "the command line and the server have different versions"}
	notReady     = &Kind{"not-ready", Error, "the server accepts no writes"}
	readyWarning = &Kind{"ready-warning", Warning, "`/readyz` warns of something"}
	clockWrong   = &Kind{"clock-wrong", Warning, "the server does not follow its machine's clock, or is ahead of it"}
	clockSkew    = &Kind{
		"clock-skew", Warning,
		"the clocks of this machine and of the server's differ by more than a minute",
	}
	durability = &Kind{"durability", Info, "the server acknowledges events before they are on the disk"}
)

// The kinds of findings in the figures.
var (
	metricsMissing  = &Kind{"metrics-missing", Warning, "the server does not show all its figures"}
	projectionLag   = &Kind{"projection-lag", Warning, "what reads or the live views show is far behind the log"}
	commandsWaiting = &Kind{"commands-waiting", Warning, "many commands wait for the writer"}
	streamsDropped  = &Kind{
		"streams-dropped", Warning,
		"readers of streams were cut off, because they were too slow",
	}
	refusalsRising = &Kind{"refusals-rising", Warning, "more commands are refused than before"}
	appendsSlow    = &Kind{
		"appends-slow", Warning,
		"more than one in a hundred appends to the log took longer than 250 ms",
	}
	commandsSlow = &Kind{
		"commands-slow", Warning,
		"more than one in a hundred commands waited longer than a second for the writer",
	}
	itemsWaiting = &Kind{
		"items-waiting", Warning,
		"a queue item that could be started was pushed more than an hour ago",
	}
	limitRefuses     = &Kind{"limit-refuses", Warning, "a limit has refused 100 calls or more since the server started"}
	webhookFailing   = &Kind{"webhook-failing", Warning, "a webhook has failed for more than a minute"}
	itemsQuarantined = &Kind{"items-quarantined", Warning, "queue items failed too often, and wait for a person"}
	sessionsLost     = &Kind{"sessions-lost", Warning, "sessions were not heard in time"}
	runAsks          = &Kind{"run-asks", Warning, "a run waits for your answer, and does not start its agent before"}
	supervisorHangs  = &Kind{"supervisor-hangs", Warning, "an agent's supervisor runs, but was not heard in time"}
	logLarge         = &Kind{"log-large", Warning, "the log is larger than any that was measured"}
	diskLow          = &Kind{"disk-low", Warning, "the log's disk has little room"}
	diskFull         = &Kind{"disk-full", Error, "the log's disk has too little room for writes"}
	filesLow         = &Kind{"files-low", Warning, "few more files can be made on the log's disk"}
	tokenExpiring    = &Kind{"token-expiring", Warning, "a named token expires within a week"}
	tokenExpired     = &Kind{
		"token-expired", Warning,
		"a named token has expired, and sessions that it spawned go on",
	}
)

// The kinds of findings about the home.
var (
	homeMissing  = &Kind{"home-missing", Error, "there is no home"}
	homeUnusable = &Kind{
		"home-unusable", Error,
		"the home, or a file in it, has the wrong owner, mode, kind or content",
	}
	homeReadOnly  = &Kind{"home-read-only", Warning, "the home cannot be written to"}
	homeNewer     = &Kind{"home-newer", Error, "a newer version wrote the home"}
	keyMissing    = &Kind{"key-missing", Error, "the home lacks the key of its sessions' secrets"}
	configInvalid = &Kind{"config-invalid", Error, "`config.json` of the home cannot be used"}
	storeUnclean  = &Kind{"store-unclean", Warning, "the last server did not stop cleanly"}
	headBroken    = &Kind{"head-broken", Error, "the head file cannot be read"}
	headAhead     = &Kind{"head-ahead", Error, "the head file saw more of the log than there is, or another event"}
	leftovers     = &Kind{"leftovers", Warning, "a killed restore or salvage left a directory behind"}
	damagedCopies = &Kind{"damaged-copies", Info, "copies of a damaged store are in the home"}
	backupMissing = &Kind{"backup-missing", Warning, "there is no automatic backup"}
	backupOld     = &Kind{"backup-old", Warning, "the newest automatic backup is more than two days old"}
	backupPartial = &Kind{"backup-partial", Warning, "the newest automatic backup lacks long texts"}
	outboxWaiting = &Kind{"outbox-waiting", Warning, "kept commands wait to be delivered"}
	outboxAside   = &Kind{"outbox-aside", Warning, "kept commands were set aside, and are not delivered"}
	outboxRefused = &Kind{
		"outbox-refused", Warning,
		"the server refused kept commands, and their session has not seen it",
	}
	landlock = &Kind{"landlock", Info, "whether the kernel can confine agents with Landlock"}
)

// The kinds of findings about agents.
var (
	hookBroken = &Kind{
		"hook-broken", Warning,
		"the hook that judges the tool calls of agents does not deny a probe",
	}
	agentsInvalid = &Kind{"agents-invalid", Error, "`agents.json` of the home cannot be used"}
	agentMissing  = &Kind{
		"agent-missing", Warning,
		"an agent that is configured, or that a session waits for, is not installed",
	}
	agentOld      = &Kind{"agent-version", Warning, "such an agent is too old"}
	agentLogin    = &Kind{"agent-login", Warning, "such an agent has no login for its model"}
	agentUnusable = &Kind{"agent-unusable", Warning, "such an agent does not start"}
	agentUnready  = &Kind{"agent-unready", Info, "another agent is not installed, too old, or not logged in"}
	agentReady    = &Kind{"agent-ready", Info, "an agent is installed and logged in"}

	workspaces         = &Kind{"workspaces", Info, "where the workspaces of agents are"}
	workspacesUnusable = &Kind{
		"workspaces-unusable", Warning,
		"agents cannot have the directories that they need",
	}
	workspacesFull   = &Kind{"workspaces-full", Warning, "the disk of the workspaces has too little room for a run"}
	runnerUnconfined = &Kind{
		"runner-unconfined", Warning,
		"the running server launches agents that nothing confines, although this machine could confine them",
	}
	unconfined   = &Kind{"unconfined", Warning, "nothing confines agents, and some are configured or spawned"}
	confinement  = &Kind{"confinement", Info, "which layers confine agents"}
	layerMissing = &Kind{"layer-missing", Info, "this machine does not offer a layer of confinement"}
)

// Kinds returns every kind of finding, in the order of the page that lists them.
func Kinds() []*Kind {
	return []*Kind{
		environment, serverStopped, serverKilled, serverReads, serverStarting, serverSilent, serverStranger,
		serverInsecure, serverBusy, tokenRefused, limited, versionSkew, notReady, readyWarning, clockWrong,
		clockSkew, durability, metricsMissing, projectionLag, commandsWaiting, commandsSlow, appendsSlow,
		streamsDropped, refusalsRising, limitRefuses, webhookFailing, itemsWaiting, itemsQuarantined, sessionsLost,
		runAsks, supervisorHangs,
		logLarge, diskLow, diskFull, filesLow, tokenExpiring, tokenExpired, homeMissing, homeUnusable, homeReadOnly,
		homeNewer, keyMissing, configInvalid, storeUnclean, headBroken, headAhead, leftovers, damagedCopies,
		backupMissing, backupOld, backupPartial, outboxWaiting, outboxAside, outboxRefused, landlock,
		hookBroken, agentsInvalid, agentMissing, agentOld, agentLogin, agentUnusable, agentUnready, agentReady,
		workspaces, workspacesUnusable, workspacesFull, runnerUnconfined, unconfined, confinement, layerMissing,
	}
}

// Finding is one thing that a check found.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Code is that of a warning of the server, "" for other findings.
	Code string `json:"code,omitempty"`
	What string `json:"what"`
	// Why says why it matters, Next what to do; both are empty only if nothing is wrong.
	Why  string `json:"why,omitempty"`
	Next string `json:"next,omitempty"`
}

// found returns a finding of a kind.
func (k *Kind) found(what, why, next string) Finding {
	if why == "" {
		why = k.About
	}
	return Finding{
		ID:       k.ID,
		Severity: k.Severity,
		What:     what,
		Why:      why,
		Next:     next,
	}
}
