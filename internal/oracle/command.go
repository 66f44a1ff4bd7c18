package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Command is what somebody asks for.
type Command struct {
	// ID is that of its row in the table, Body its fields as JSON.
	ID   string
	Body json.RawMessage
	// Source is who asks, as an event would say it.
	Source string
	// Access is what the token of a user is for: admin, auditor or read-only. Generation is which of the secrets that a
	// session or a named token had it is.
	Access     string
	Generation int
	// At is when it is decided; a time before the newest event counts as the time of that. Said is when it was said, if
	// it was kept before.
	At, Said time.Time
}

// Answer is what the documents make of a command.
type Answer struct {
	// Event: it becomes one.
	Event bool
	// Already: it changes nothing, because it is so already.
	Already bool
	// Codes are those that its refusal may have: of a command that is wrong in more than one way, several.
	Codes []string
	// Because are the rules that its event would break.
	Because []Fault
}

func (a Answer) String() string {
	switch {
	case a.Event:
		return "an event"
	case a.Already:
		return "already so"
	}
	return strings.TrimSpace(fmt.Sprintf("refused with %s %v", strings.Join(a.Codes, " or "), a.Because))
}

// The codes of refusals.
const (
	codeAllowed  = "NOT_ALLOWED"
	codeFound    = "NOT_FOUND"
	codeInvalid  = "VALIDATION_ERROR"
	codeConflict = "CONFLICT"
	codeRule     = "BUSINESS_RULE_ERROR"
	codeLimit    = "LIMIT_EXCEEDED"
)

// codesOf are the codes with which a command is refused whose event would break a rule.
var codesOf = map[string][]string{
	rulePermitted:   {codeAllowed},
	ruleUser:        {codeAllowed},
	ruleSystem:      {codeAllowed},
	ruleOwn:         {codeAllowed},
	ruleScope:       {codeAllowed},
	ruleSpawner:     {codeAllowed},
	rulePermissions: {codeInvalid, codeAllowed},
	ruleEnded:       {codeAllowed, codeConflict},
	ruleExists:      {codeFound},
	ruleProject:     {codeInvalid, codeAllowed, codeRule},
	ruleTask:        {codeInvalid, codeFound},
	ruleSession:     {codeInvalid},
	ruleManifest:    {codeInvalid, codeAllowed, codeRule, codeConflict},
	ruleSpawn:       {codeInvalid, codeFound, codeAllowed, codeRule},
	ruleLimit:       {codeLimit},
	ruleStatus:      {codeInvalid, codeRule},
	ruleStatusOwner: {codeAllowed},
	ruleReportTasks: {codeAllowed},
	ruleReport:      {codeInvalid},
	ruleLate:        {codeAllowed, codeLimit},
	ruleQueue:       {codeConflict, codeInvalid},
	ruleHolder:      {codeConflict},
	rulePull:        {codeAllowed, codeConflict},
	ruleOrder:       {codeConflict},
	ruleReturn:      {codeRule},
	ruleRequeue:     {codeConflict},
	ruleLease:       {codeRule},
	ruleTimeout:     {codeRule},
	ruleQuestion:    {codeConflict, codeInvalid, codeRule},
	ruleToken:       {codeInvalid, codeConflict, codeRule},
	ruleTemplate:    {codeInvalid, codeRule},
}

// asked is a command before the judge: a trial of the event that it would become.
type asked struct {
	*trial
	Command
	f fields
	// fresh is the id of what it would make.
	fresh   string
	codes   []string
	already bool
}

// fields are those of all commands.
type fields struct {
	Project      string    `json:"project"`
	ProjectID    string    `json:"projectId"`
	Name         *string   `json:"name"`
	Title        *string   `json:"title"`
	ParentID     string    `json:"parentId"`
	Dependencies *[]string `json:"dependencies"`
	TaskID       string    `json:"taskId"`
	SessionID    string    `json:"sessionId"`
	Status       *string   `json:"status"`
	Message      string    `json:"message"`
	TaskIDs      *[]string `json:"taskIds"`
	Role         string    `json:"role"`
	Strategy     string    `json:"strategy"`
	Allowed      *[]string `json:"allowedCommands"`
	Strict       bool      `json:"strict"`
	Create       bool      `json:"create"`
	Recursive    bool      `json:"recursive"`
	Failed       bool      `json:"failed"`
	SpawnedBy    string    `json:"spawnedBy"`
	File         string    `json:"file"`
	Queue        string    `json:"queue"`
	TrustReports bool      `json:"trustReports"`
	MaxAttempts  int       `json:"maxAttempts"`
	Timeout      int64     `json:"timeout"`
	Options      []string  `json:"options"`
	InputID      string    `json:"inputId"`
	Answer       string    `json:"answer"`
	Other        bool      `json:"other"`
	Kind         string    `json:"kind"`
	ProjectIDs   []string  `json:"projectIds"`
	ExpiresIn    int64     `json:"expiresIn"`
	ExpiresAt    int64     `json:"expiresAt"`
	KeepChildren bool      `json:"keepChildren"`
	SilentFor    int64     `json:"silentFor"`
	Lease        int64     `json:"lease"`
	Manifest     *string   `json:"manifestDigest"`
	TemplateID   string    `json:"templateId"`
	Content      *string   `json:"content"`
}

// asks are the commands that may become an event, each with the event that it would be; nil if there is none, because
// the command is refused or changes nothing.
var asks = map[string]func(*asked) fact{
	"project:create":     (*asked).createProject,
	"project:update":     (*asked).updateProject,
	"project:delete":     (*asked).deleteProject,
	"task:create":        (*asked).createTask,
	"task:update":        (*asked).updateTask,
	"task:complete":      (*asked).moveTask,
	"task:block":         (*asked).moveTask,
	"task:reopen":        (*asked).moveTask,
	"task:delete":        (*asked).deleteTask,
	"session:spawn":      (*asked).spawn,
	"session:register":   (*asked).register,
	"worker:init":        (*asked).begin,
	"orchestrator:init":  (*asked).begin,
	"session:complete":   (*asked).completeSession,
	"session:kill":       (*asked).killSession,
	"session:update":     (*asked).updateSession,
	"session:delete":     (*asked).deleteSession,
	"session:note":       (*asked).noteSession,
	"session:link":       (*asked).linkTask,
	"session:unlink":     (*asked).unlinkTask,
	"track-file":         (*asked).trackFile,
	"report:progress":    (*asked).report,
	"report:complete":    (*asked).report,
	"report:blocked":     (*asked).report,
	"report:error":       (*asked).report,
	"report:needs-input": (*asked).report,
	"queue:create":       (*asked).createQueue,
	"queue:push":         (*asked).pushItem,
	"queue:start":        (*asked).startItem,
	"queue:complete":     (*asked).endItem,
	"queue:fail":         (*asked).endItem,
	"queue:skip":         (*asked).skipItem,
	"queue:requeue":      (*asked).requeueItem,
	"queue:return":       (*asked).takeBack,
	"queue:quarantine":   (*asked).takeBack,
	"input:answer":       (*asked).answerInput,
	"input:received":     (*asked).receiveInput,
	"token:create":       (*asked).createToken,
	"token:revoke":       (*asked).revokeToken,
	"template:create":    (*asked).createTemplate,
	"template:update":    (*asked).updateTemplate,
	"template:reset":     (*asked).resetTemplate,
	"template:delete":    (*asked).deleteTemplate,
	"session:lost":       (*asked).loseSession,
	"session:recovered":  (*asked).recoverSession,
	"session:timed-out":  (*asked).timeOutSession,
}

// Ask says what a command must come to, on what the Judge has seen. It changes nothing.
func (j *Judge) Ask(command Command) Answer {
	a := j.asked(command, "(new)")
	a.propose()
	switch {
	case a.refused():
		for _, f := range a.verdict.Faults {
			a.codes = append(a.codes, codesOf[f.Rule]...)
		}
		slices.Sort(a.codes)
		return Answer{Codes: slices.Compact(a.codes), Because: a.verdict.Faults}
	case a.already:
		return Answer{Already: true}
	}
	return Answer{Event: true}
}

// Permits reports whether the table lets who asks ask, and whether its credential is good; what the command comes to,
// Ask says.
func (j *Judge) Permits(command Command) bool {
	a := j.asked(command, "(new)")
	a.permit()
	return !a.refused()
}

// Project gives the project that a command acts in, "" if in none.
func (j *Judge) Project(command Command) string { return j.asked(command, "").event.Project }

// Cause gives the ids of the event that led to what a command becomes, and of the first in that chain; "" for nothing.
func (j *Judge) Cause(command Command) (cause, first string) {
	cause = j.asked(command, "").cause()
	return cause, j.roots[cause]
}

func (j *Judge) asked(command Command, fresh string) *asked {
	apart := *j
	apart.verdict = Verdict{}
	if command.At.Before(j.lastTime) {
		command.At = j.lastTime
	}
	if !command.Said.IsZero() && command.Said.After(command.At) {
		command.Said = command.At
	}
	a := &asked{Command: command, fresh: fresh}
	a.trial = &trial{
		Judge:    &apart,
		sequence: j.chain.sequence + 1,
		by:       parseSource(command.Source),
		event: &event{
			Source: command.Source, Time: command.At.Truncate(time.Millisecond), OccurredAt: command.Said, Rules: "3",
		},
	}
	if err := json.Unmarshal(command.Body, &a.f); err != nil {
		a.refuse(codeInvalid)
	}
	a.event.Project = a.project()
	return a
}

// propose gives the event that the command would be, judged; nil if it would be none. Who may not ask at all is told
// nothing else.
func (a *asked) propose() fact {
	if a.refused() {
		return nil
	}
	if a.permit(); a.refused() {
		return nil
	}
	event := asks[a.ID](a)
	if event == nil || a.already {
		return nil
	}
	if event.judge(a.trial); a.refused() {
		return nil
	}
	return event
}

func (a *asked) refuse(code string) { a.codes = append(a.codes, code) }

func (a *asked) refused() bool { return len(a.codes) > 0 || len(a.verdict.Faults) > 0 }

// so says that the command changes nothing.
func (a *asked) so() fact {
	a.already = true
	return nil
}

// no refuses the command.
func (a *asked) no(code string) fact {
	a.refuse(code)
	return nil
}

// project gives the project that the command acts in: its target's, or the one it names, or its caller's.
func (a *asked) project() string {
	noun, verb, _ := strings.Cut(a.ID, ":")
	switch {
	case a.ID == "project:create", noun == "token" && a.f.SessionID == "", noun == "template":
		return ""
	case noun == "project":
		return a.f.ProjectID
	case a.ID == "queue:requeue", noun == "task" && verb != "create":
		if t := a.tasks[a.f.TaskID]; t != nil {
			return t.project
		}
	case noun == "input":
		if q := a.questions[a.f.InputID]; q != nil {
			return q.project
		}
	case a.ID == "session:spawn", noun == "task", a.ID == "queue:create", a.ID == "queue:return", a.ID == "queue:quarantine":
	default:
		if s := a.sessions[a.f.SessionID]; s != nil {
			return s.project
		}
	}
	if a.f.Project != "" {
		return a.f.Project
	}
	return a.by.project
}

// permit asks the table, and whether the credential is good.
func (a *asked) permit() {
	ids := []string{a.ID}
	switch a.by.kind {
	case byUser:
		t := a.tokens[a.by.id]
		if a.Access != "admin" || a.by.id != "admin" && (t == nil || t.generation != a.Generation) {
			a.refuse(codeAllowed)
		}
		a.user(ids)
	case bySession:
		s := a.sessions[a.by.id]
		if s == nil || s.ended == endDeleted || s.generation != a.Generation {
			a.refuse(codeAllowed)
			return
		}
		if p := a.projects[a.event.Project]; a.event.Project != "" && a.event.Project != s.project && (p == nil || p.deleted) {
			a.refuse(codeAllowed)
		}
		a.session(ids)
	case byRunner:
		a.refuse(codeAllowed)
	case bySystem:
		if !mayUse(a.ID, "S") {
			a.refuse(codeAllowed)
		}
	}
}

// Tells says in what an event differs from the one that the documents make of its command; "" if in nothing. The Judge
// must have seen what is before it.
func (j *Judge) Tells(command Command, body []byte) string {
	e, err := readEvent(body)
	if err != nil {
		return err.Error()
	}
	blank := known[e.Type]
	if blank == nil {
		return "its type is unknown"
	}
	is := blank()
	if err := decodeData(e.Data, is); err != nil {
		return err.Error()
	}
	command.At = e.Time
	fresh := ""
	if maker, ok := is.(interface{ made() string }); ok {
		fresh = maker.made()
	}
	a := j.asked(command, fresh)
	must := a.propose()
	switch {
	case must == nil:
		return "it is the event of a command that has none"
	case reflect.TypeOf(must) != reflect.TypeOf(is):
		return fmt.Sprintf("it is a %T, and its command makes a %T", is, must)
	case e.Project != a.event.Project && fresh != e.Project:
		return fmt.Sprintf("it is of project %q, and its command of %q", e.Project, a.event.Project)
	}
	return differ(members(is), members(must))
}

// made gives the id of what an event made.
func (f *projectCreated) made() string    { return f.ProjectID }
func (f *taskCreated) made() string       { return f.TaskID }
func (f *sessionSpawned) made() string    { return f.SessionID }
func (f *sessionRegistered) made() string { return f.SessionID }
func (f *sessionReported) made() string   { return f.InputID }
func (f *templateCreated) made() string   { return f.TemplateID }

// members gives a payload's members that are not empty, lists of commands and names in order.
func members(what fact) map[string]any {
	text, err := json.Marshal(what)
	if err != nil {
		return nil
	}
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	switch what := what.(type) {
	case *sessionSpawned:
		delete(all, "unmetDependencies") // a queue that trusts reports sees it otherwise
		all["permissions"] = what.Permissions.sorted()
	case *sessionRegistered:
		if created, ok := all["created"].(map[string]any); ok {
			created["permissions"] = what.Created.Permissions.sorted()
		}
	case *sessionReported:
		delete(all, "sessionCompleted") // it may say so again
		delete(all, "blobs")
		if what.Blobs["message"] != "" || len(what.Message) >= maxStored {
			delete(all, "message")
		}
	case *tokenRevoked:
		all["children"] = slices.Sorted(slices.Values(what.Children))
		if what.SessionID == "" {
			delete(all, "generation") // of which secret, the documents leave open
		}
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return empty(value) })
	return all
}

func empty(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

func (p permissions) sorted() string {
	return fmt.Sprint(p.Explicit, slices.Sorted(slices.Values(p.Commands)))
}

func differ(is, must map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(must)) {
		if !reflect.DeepEqual(is[name], must[name]) {
			return fmt.Sprintf("its %s is %v, and its command makes it %v", name, is[name], must[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if must[name] == nil {
			return fmt.Sprintf("its %s is %v, and its command says nothing of it", name, is[name])
		}
	}
	return ""
}

// cause gives the id of the event that led to what the command becomes: it lies in the thing itself, else in what made
// the session that asks; "" for nothing.
func (a *asked) cause() string {
	f := a.f
	switch a.ID {
	case "queue:start", "queue:skip", "queue:complete", "queue:fail":
		q, s := a.line()
		if s != nil && s.holds != nil {
			return s.holds.cause
		}
		if first, _ := a.first(q); first != nil {
			return first.cause
		}
		return ""
	case "queue:return", "queue:quarantine":
		if i := a.itemOf(f.Queue, f.TaskID); i != nil && a.sessions[i.holder] != nil {
			return a.sessions[i.holder].gone
		}
	case "input:answer":
		return a.questions[f.InputID].asked
	case "input:received":
		return a.questions[f.InputID].replied
	}
	s := a.sessions[f.SessionID]
	switch {
	case a.ID == "session:recovered" && s != nil:
		return s.gone
	case (a.ID == "session:lost" || a.ID == "session:timed-out") && s != nil:
		return s.made
	case a.by.kind == bySession:
		return a.sessions[a.by.id].made
	}
	return ""
}
