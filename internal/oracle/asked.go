package oracle

import (
	"encoding/json"
	"strings"
	"time"
)

// asked is a command under judgement: a trial of the event that it would become.
type asked struct {
	*trial
	Command
	f fields
	// fresh is the id of what it would create.
	fresh   string
	codes   []string
	already bool
}

// fields are the fields of all commands.
type fields struct {
	Project      string    `json:"project"`
	ProjectID    string    `json:"projectId"`
	Name         *string   `json:"name"`
	Title        *string   `json:"title"`
	ParentID     *string   `json:"parentId"`
	Dependencies *[]string `json:"dependencies"`
	PlanID       *string   `json:"planId"`
	Labels       *[]string `json:"labels"`

	AddDependencies    []string `json:"addDependencies"`
	RemoveDependencies []string `json:"removeDependencies"`
	AddLabels          []string `json:"addLabels"`
	RemoveLabels       []string `json:"removeLabels"`

	TaskID       string    `json:"taskId"`
	SessionID    string    `json:"sessionId"`
	Status       *string   `json:"status"`
	Message      string    `json:"message"`
	TaskIDs      *[]string `json:"taskIds"`
	Role         string    `json:"role"`
	Strategy     string    `json:"strategy"`
	Allowed      *[]string `json:"allowedCommands"`
	Force        bool      `json:"force"`
	Reason       string    `json:"reason"`
	Generation   int       `json:"generation"`
	Address      string    `json:"address"`
	LoginUntil   int64     `json:"loginUntil"`
	Create       bool      `json:"create"`
	Recursive    bool      `json:"recursive"`
	Failed       bool      `json:"failed"`
	SpawnedBy    string    `json:"spawnedBy"`
	File         string    `json:"file"`
	Queue        string    `json:"queue"`
	Before       string    `json:"before"`
	After        string    `json:"after"`
	First        bool      `json:"first"`
	TrustReports bool      `json:"trustReports"`
	MaxAttempts  int       `json:"maxAttempts"`
	Timeout      int64     `json:"timeout"`
	Options      []string  `json:"options"`
	InputID      string    `json:"inputId"`
	Text         string    `json:"text"`
	About        string    `json:"about"`
	Answer       string    `json:"answer"`
	Other        bool      `json:"other"`
	Kind         string    `json:"kind"`
	Type         string    `json:"type"`
	ProjectIDs   []string  `json:"projectIds"`
	ExpiresIn    int64     `json:"expiresIn"`
	ExpiresAt    int64     `json:"expiresAt"`
	KeepChildren bool      `json:"keepChildren"`
	SilentFor    int64     `json:"silentFor"`
	Lease        int64     `json:"lease"`
	Manifest     *string   `json:"manifestDigest"`
	TemplateID   string    `json:"templateId"`
	WebhookID    string    `json:"webhookId"`
	URL          *string   `json:"url"`
	Types        *[]string `json:"types"`
	NewSecret    bool      `json:"newSecret"`
	Skip         bool      `json:"skip"`
	Why          string    `json:"why"`
	Failures     int       `json:"failures"`
	FailingFor   int64     `json:"failingFor"`
	Patience     int64     `json:"patience"`
	Problem      string    `json:"problem"`
	Content      *string   `json:"content"`
	Runner       string    `json:"runner"`

	PermissionMode   string  `json:"permissionMode"`
	Network          string  `json:"network"`
	WorkingDirectory string  `json:"workingDirectory"`
	WorkingDir       *string `json:"workingDir"`

	Run          int    `json:"run"`
	Host         string `json:"host"`
	ExitCode     *int   `json:"exitCode"`
	Signal       string `json:"signal"`
	LastOutput   string `json:"lastOutput"`
	Conversation string `json:"conversation"`
	Command      string `json:"command"`
	Check        string `json:"check"`
	Path         string `json:"path"`
	Fix          string `json:"fix"`
	Detail       string `json:"detail"`
	Since        int64  `json:"since"`
	used
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
			Source:     command.Source,
			Time:       command.At.Truncate(time.Millisecond),
			OccurredAt: command.Said,
			Rules:      "7",
		},
	}
	if err := json.Unmarshal(command.Body, &a.f); err != nil {
		a.refuse(codeInvalid)
	}
	a.event.Project = a.project()
	return a
}

// propose returns the event that the command would become, judged; nil if none. A caller that may not use the command
// learns nothing else.
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

// so means that the command changes nothing.
func (a *asked) so() fact {
	a.already = true
	return nil
}

// no refuses the command.
func (a *asked) no(code string) fact {
	a.refuse(code)
	return nil
}

// project returns the project in which the command acts: its target's, or the one that it names, or its caller's.
func (a *asked) project() string {
	noun, verb, _ := strings.Cut(a.ID, ":")
	switch {
	case a.ID == "project:create", noun == "token" && a.f.SessionID == "", noun == "template", noun == "audit",
		noun == "webhook":
		return ""
	case noun == "project":
		return a.f.ProjectID
	case a.ID == "queue:requeue", a.ID == "queue:move", a.ID == "queue:remove", noun == "task" && verb != "create":
		if t := a.tasks[a.f.TaskID]; t != nil {
			return t.project
		}
	case noun == "input":
		if q := a.questions[a.f.InputID]; q != nil {
			return q.project
		}
	case a.ID == "session:spawn",
		noun == "task",
		a.ID == "queue:create",
		a.ID == "queue:delete",
		a.ID == "queue:return",
		a.ID == "queue:quarantine":
	case isMessage([]string{a.ID}) && a.by.kind == bySession && a.f.SessionID == "":
		if s := a.sessions[a.spawnedBy()]; s != nil {
			return s.project
		}
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

// spawnedBy returns the session that spawned the calling one, "" if there is none.
func (a *asked) spawnedBy() string {
	if s := a.sessions[a.by.id]; s != nil {
		return s.spawnedBy
	}
	return ""
}

// permit checks the table, and whether the credential is valid.
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
		if p := a.projects[a.event.Project]; a.event.Project != "" && a.event.Project != s.project &&
			(p == nil || p.deleted) {
			a.refuse(codeAllowed)
		}
		a.session(ids)
	case byRunner:
		s := a.sessions[a.Speaks]
		if !mayUse(a.ID, "R") || a.Speaks != "" && (s == nil || s.ended == endDeleted || s.generation != a.Generation) {
			a.refuse(codeAllowed)
		}
	case bySystem:
		if !mayUse(a.ID, "S") {
			a.refuse(codeAllowed)
		}
	}
}
