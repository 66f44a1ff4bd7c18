package oracle

// The rules, as they stand in [Fault.Rule].
const (
	// The log itself.
	ruleChain    = "chain"     // no gap, every hash fits
	ruleID       = "id"        // no event id stands twice
	ruleTime     = "time"      // time never decreases
	ruleType     = "type"      // every type is known
	ruleEnvelope = "envelope"  // attributes and subjects follow the documents, and match the payload
	ruleOlder    = "rules"     // rules are never older than those of an earlier event
	ruleCause    = "causation" // causes are earlier events, chains have one beginning, a session's events have a cause

	// Who may do what.
	rulePermitted   = "permitted"   // the table, and the frozen list of the session
	ruleUser        = "user"        // a user other than admin has a live admin token
	ruleSystem      = "system"      // the system does what a passed deadline asks for, and nothing else
	ruleOwn         = "own"         // a session acts only for itself
	ruleScope       = "scope"       // a session writes in its own project, an orchestrator also in those it created
	ruleSpawner     = "spawner"     // an orchestrator controls the sessions that it spawned
	rulePermissions = "permissions" // what a new session may do is what its role, strategy and list allow
	ruleEnded       = "ended"       // an ended session does nothing

	// What things are.
	ruleExists  = "exists"  // what an event is about exists, what it creates did not
	ruleProject = "project" // only an empty project is deleted, by an orchestrator only its own
	ruleTask    = "task"    // titles, parents, dependencies, descendants
	rulePlanID  = "plan-id" // one task of a project has it
	ruleSession = "session" // the permitted values of a session's event
	// digests are valid; a session begins in its own role, with its latest manifest
	ruleManifest = "manifest"
	ruleSpawn    = "spawn" // what a spawn says about its tasks, its queue and its initiator
	// no session is given a cancelled task, nor, without force, one that waits for others or after its end
	ruleWork = "work"

	ruleLimit = "limit" // the limits of docs/limits.md hold, if the rules have limits

	// The two statuses.
	ruleStatus      = "status"       // a move starts from the present status, and goes where its command leads
	ruleFinish      = "finish"       // nothing is open below a completed task, unless forced
	ruleStatusOwner = "status-owner" // only users and orchestrators move a task's status; cancelled is the user's
	ruleReportTasks = "report-tasks" // which tasks a session may report on
	ruleNotice      = "notice"       // the sessions concerned are notified when a task is open again
	ruleReport      = "report"       // a report's parts fit its kind
	ruleLate        = "late"         // late are exactly the reports after an end, and they change nothing
	ruleNote        = "note"         // a session's notes do not use the types of decisions

	// Queues.
	ruleQueue   = "queue"             // queues are created once, and a task is in one only once
	ruleHolder  = "queue-holder"      // one holder per item, one item per session, and only the holder lays it down
	rulePull    = "queue-pull"        // a session pulls from its own queue, alive, not lost and not done
	ruleOrder   = "queue-order"       // what is started or skipped is the first eligible item
	rulePassed  = "queue-passed-over" // the number of items before it
	ruleAttempt = "queue-attempt"     // starts are counted
	// an item goes back when its holder is gone, and to quarantine after its last attempt
	ruleReturn = "queue-return"
	// only queued items move, held items stay, and only an empty queue is deleted
	ruleMoved   = "queue-change"
	ruleRequeue = "queue-requeue" // quarantined, failed, skipped or reopened items are queued again

	// Deadlines, questions, tokens, templates.
	ruleLease    = "lease"    // a session is lost when its lease is over, and recovers only from that
	ruleTimeout  = "timeout"  // a session times out at the deadline of its spawn
	ruleQuestion = "question" // a question is opened, answered and delivered once, in this order
	ruleToken    = "token"    // names, kinds and generations of tokens
	ruleTemplate = "template" // names, roles and contents of templates; built-in ones stay
)

var rules = []string{
	ruleChain, ruleID, ruleTime, ruleType, ruleEnvelope, ruleOlder, ruleCause,
	rulePermitted, ruleUser, ruleSystem, ruleOwn, ruleScope, ruleSpawner, rulePermissions, ruleEnded,
	ruleExists, ruleProject, ruleTask, rulePlanID, ruleSession, ruleManifest, ruleSpawn, ruleWork, ruleLimit,
	ruleStatus, ruleFinish, ruleStatusOwner, ruleReportTasks, ruleNotice, ruleReport, ruleLate, ruleNote,
	ruleQueue, ruleHolder, rulePull, ruleOrder, rulePassed, ruleAttempt, ruleReturn, ruleMoved, ruleRequeue,
	ruleLease, ruleTimeout, ruleQuestion, ruleToken, ruleTemplate,
}

// Rules lists the names of all rules, in the order of their explanation in this package.
func Rules() []string { return append([]string(nil), rules...) }
