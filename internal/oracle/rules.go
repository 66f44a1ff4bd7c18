package oracle

// The rules, as named in [Fault.Rule].
const (
	// The log itself.
	ruleChain    = "chain"     // no gap, every hash fits
	ruleID       = "id"        // no event id occurs twice
	ruleTime     = "time"      // time never decreases
	ruleType     = "type"      // every type is known
	ruleEnvelope = "envelope"  // attributes and subjects follow the documents, and match the payload
	ruleOlder    = "rules"     // rules are never older than those of an earlier event
	ruleCause    = "causation" // causes are earlier events, chains have one beginning, a session's events have a cause

	// Permissions.
	rulePermitted   = "permitted"   // the table, and the frozen list of the session
	ruleUser        = "user"        // a user other than admin has a live admin token
	ruleSystem      = "system"      // the system does what a passed deadline requires, and nothing else
	ruleOwn         = "own"         // a session acts only for itself
	ruleScope       = "scope"       // a session writes in its own project, an orchestrator also in those it created
	ruleSpawner     = "spawner"     // an orchestrator controls the sessions that it spawned
	rulePermissions = "permissions" // a new session gets only the commands that its role, strategy and list allow
	ruleEnded       = "ended"       // an ended session does nothing

	// Objects.
	ruleExists  = "exists"  // the subject of an event exists; what it creates did not exist before
	ruleProject = "project" // only an empty project is deleted, by an orchestrator only its own
	ruleTask    = "task"    // titles, parents, dependencies, descendants
	rulePlanID  = "plan-id" // only one task of a project has a plan id
	ruleSession = "session" // the permitted values of a session's event
	// digests are valid; a session starts in its own role, with its latest manifest
	ruleManifest = "manifest"
	ruleSpawn    = "spawn" // what a spawn says about its tasks, its queue and its initiator
	// no session is given a cancelled task or, without force, one with unmet dependencies or one after its end
	ruleWork = "work"

	ruleLimit = "limit" // the limits of docs/limits.md hold, if the rules have limits

	// The two statuses.
	ruleStatus      = "status"       // a move is from the current status, to one that its command leads to
	ruleFinish      = "finish"       // nothing is open below a completed task, unless forced
	ruleStatusOwner = "status-owner" // only users and orchestrators move a task's status; cancelled is the user's
	ruleReportTasks = "report-tasks" // which tasks a session may report on
	ruleNotice      = "notice"       // the sessions concerned are notified when a task is open again
	ruleReport      = "report"       // a report's parts fit its kind
	ruleLate        = "late"         // exactly the reports after a session's end are late, and they change nothing
	ruleNote        = "note"         // a session's notes do not use the types of decisions

	// Queues.
	ruleQueue   = "queue"             // queues are created once, and a task is in one only once
	ruleHolder  = "queue-holder"      // one holder per item, one item per session, and only the holder ends that
	rulePull    = "queue-pull"        // a session pulls from its own queue, alive, not lost and not done
	ruleOrder   = "queue-order"       // only the first eligible item is started or skipped
	rulePassed  = "queue-passed-over" // the number of items before it is right
	ruleAttempt = "queue-attempt"     // starts are counted
	// an item is returned when its holder is gone, and quarantined after its last attempt
	ruleReturn = "queue-return"
	// only queued items move, held items stay, and only an empty queue is deleted
	ruleMoved   = "queue-change"
	ruleRequeue = "queue-requeue" // quarantined, failed, skipped or reopened items are requeued

	// Deadlines, questions, tokens, templates, webhooks.
	ruleLease   = "lease"   // a session is lost when its lease is over, and recovers only from that
	ruleTimeout = "timeout" // a session times out at the deadline of its spawn, or of its resumption
	// a runner claims a session once, and speaks of its last run; whoever spawned a session resumes it for its next one
	ruleRun      = "run"
	ruleQuestion = "question" // a question is opened, answered and delivered once, in this order
	ruleToken    = "token"    // names, kinds and generations of tokens
	ruleText     = "text"     // a long text is removed once, with a reason, and not named again
	ruleTemplate = "template" // names, roles and contents of templates; built-in ones stay
	// webhooks have an address without a password, and are parked only after they failed for as long as allowed
	ruleWebhook = "webhook"
)

var rules = []string{
	ruleChain, ruleID, ruleTime, ruleType, ruleEnvelope, ruleOlder, ruleCause,
	rulePermitted, ruleUser, ruleSystem, ruleOwn, ruleScope, ruleSpawner, rulePermissions, ruleEnded,
	ruleExists, ruleProject, ruleTask, rulePlanID, ruleSession, ruleManifest, ruleSpawn, ruleWork, ruleLimit,
	ruleStatus, ruleFinish, ruleStatusOwner, ruleReportTasks, ruleNotice, ruleReport, ruleLate, ruleNote,
	ruleQueue, ruleHolder, rulePull, ruleOrder, rulePassed, ruleAttempt, ruleReturn, ruleMoved, ruleRequeue,
	ruleLease, ruleTimeout, ruleRun, ruleQuestion, ruleToken, ruleText, ruleTemplate, ruleWebhook,
}

// Rules lists the names of all rules, in the order of their explanation in this package.
func Rules() []string { return append([]string(nil), rules...) }
