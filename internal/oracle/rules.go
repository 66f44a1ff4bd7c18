package oracle

// The rules, as they stand in [Fault.Rule].
const (
	// The log itself.
	ruleChain    = "chain"     // no gap, every hash fits
	ruleID       = "id"        // no event id stands twice
	ruleTime     = "time"      // time never goes back
	ruleType     = "type"      // every type is known
	ruleEnvelope = "envelope"  // attributes and subjects are as the documents write them, and fit the payload
	ruleOlder    = "rules"     // no event is decided by older rules than one before it
	ruleCause    = "causation" // causes are earlier events, chains have one beginning, a session's events have a cause

	// Who may do what.
	rulePermitted   = "permitted"   // the table, and the frozen list of the session
	ruleUser        = "user"        // a user other than admin has a live admin token
	ruleSystem      = "system"      // the system does what a passed deadline asks for, and nothing else
	ruleOwn         = "own"         // a session speaks for itself only
	ruleScope       = "scope"       // a session writes in its own project, an orchestrator also in those it created
	ruleSpawner     = "spawner"     // an orchestrator has a say over the sessions that it spawned
	rulePermissions = "permissions" // what a new session may do is what its role, strategy and list allow
	ruleEnded       = "ended"       // an ended session does nothing any more

	// What things are.
	ruleExists  = "exists"  // what an event is about exists, what it creates did not
	ruleProject = "project" // only an empty project is deleted, by an orchestrator only its own
	ruleTask    = "task"    // titles, parents, dependencies, descendants
	rulePlanID  = "plan-id" // one task of a project has it
	ruleSession = "session" // the values that a session's event may have
	// digests are digests; a session begins as its own role, with the manifest that it was given last
	ruleManifest = "manifest"
	ruleSpawn    = "spawn" // what a spawn says of its tasks, its queue and who ordered it
	// no session is given a cancelled task, nor, without force, one that waits for others or when it has ended
	ruleWork = "work"

	ruleLimit = "limit" // what docs/limits.md bounds is within its bounds, by the rules that have limits

	// The two statuses.
	ruleStatus      = "status"       // a move starts where the status was, and goes where its command leads
	ruleFinish      = "finish"       // nothing is open below a completed task, or by force
	ruleStatusOwner = "status-owner" // only users and orchestrators move a task's status; cancelled is the user's
	ruleReportTasks = "report-tasks" // which tasks a session may report on
	ruleNotice      = "notice"       // a task that is open again is told to the sessions that it concerns
	ruleReport      = "report"       // a report's parts fit its kind
	ruleLate        = "late"         // late are exactly the reports after an end, and they touch nothing
	ruleNote        = "note"         // a session notes nothing of a type that says what was decided

	// Queues.
	ruleQueue   = "queue"             // queues are created once, and a task stands in one only once
	ruleHolder  = "queue-holder"      // one holder an item, one item a session, and only the holder lays it down
	rulePull    = "queue-pull"        // a session pulls from its own queue, alive and not lost
	ruleOrder   = "queue-order"       // what is started or skipped is the first eligible item
	rulePassed  = "queue-passed-over" // how many stood before it
	ruleAttempt = "queue-attempt"     // starts are counted
	// an item goes back when its holder is gone, and to quarantine after its last attempt
	ruleReturn = "queue-return"
	// only queued items move, what is held stays, and only an empty queue is deleted
	ruleMoved   = "queue-change"
	ruleRequeue = "queue-requeue" // only what is quarantined, failed or skipped is queued again

	// Deadlines, questions, tokens, templates.
	ruleLease    = "lease"    // a session is lost when its lease is over, and recovers only from that
	ruleTimeout  = "timeout"  // a session is timed out at the deadline of its spawn
	ruleQuestion = "question" // a question is opened, answered and delivered once, in this order
	ruleToken    = "token"    // names, kinds and generations of tokens
	ruleTemplate = "template" // names, roles and contents of templates; Maestro's own stay
)

var rules = []string{
	ruleChain, ruleID, ruleTime, ruleType, ruleEnvelope, ruleOlder, ruleCause,
	rulePermitted, ruleUser, ruleSystem, ruleOwn, ruleScope, ruleSpawner, rulePermissions, ruleEnded,
	ruleExists, ruleProject, ruleTask, rulePlanID, ruleSession, ruleManifest, ruleSpawn, ruleWork, ruleLimit,
	ruleStatus, ruleFinish, ruleStatusOwner, ruleReportTasks, ruleNotice, ruleReport, ruleLate, ruleNote,
	ruleQueue, ruleHolder, rulePull, ruleOrder, rulePassed, ruleAttempt, ruleReturn, ruleMoved, ruleRequeue,
	ruleLease, ruleTimeout, ruleQuestion, ruleToken, ruleTemplate,
}

// Rules lists the names of all rules, in the order of this package's explanation of them.
func Rules() []string { return append([]string(nil), rules...) }
