package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"maestro/commands"
	documents "maestro/internal/oracle"
)

// caller is an actor as the simulation knows it.
type caller struct {
	// kind is admin, auditor, reader, runner, system or session.
	kind string
	// name and project are a session's; the name is also a user's or runner's.
	name, project string
	// speaks is the session that a runner's credential speaks for, "" for all of its sessions.
	speaks string
	// generation is the generation of the secret that the caller shows; 0 for the valid one.
	generation int
}

var admin = caller{kind: "admin", name: "admin"}

func (c caller) actor() commands.Actor {
	user := func(access commands.Access) commands.Actor {
		return commands.Actor{
			Kind:       commands.ActorUser,
			Name:       c.name,
			Access:     access,
			Generation: c.generation,
			Authn:      commands.AuthnToken,
		}
	}
	switch c.kind {
	case "admin":
		return user(commands.AccessAdmin)
	case "auditor":
		return user(commands.AccessAuditor)
	case "reader":
		return user(commands.AccessReadOnly)
	case "runner":
		actor := commands.RunnerActor(c.name, commands.AuthnToken)
		actor.Speaks, actor.Generation = c.speaks, c.generation
		return actor
	case "system":
		return commands.Actor{Kind: commands.ActorSystem, Authn: commands.AuthnToken}
	}
	actor := commands.SessionActor(c.project, c.name, commands.AuthnToken)
	actor.Generation = c.generation
	return actor
}

// source is the source attribute of the caller's events.
func (c caller) source() string {
	switch c.kind {
	case "session":
		return "/projects/" + c.project + "/sessions/" + c.name
	case "runner":
		return "/runners/" + c.name
	case "system":
		return "/system"
	}
	return "/users/" + c.name
}

func (c caller) user() bool { return c.kind == "admin" || c.kind == "auditor" || c.kind == "reader" }

func (c caller) String() string { return strings.TrimSpace(c.kind + " " + c.name) }

// fields are the fields of all the commands; each command has some of them.
type fields struct {
	Project      string    `json:"project,omitempty"`
	ProjectID    string    `json:"projectId,omitempty"`
	Name         *string   `json:"name,omitempty"`
	Title        *string   `json:"title,omitempty"`
	ParentID     *string   `json:"parentId,omitempty"`
	Dependencies *[]string `json:"dependencies,omitempty"`
	PlanID       *string   `json:"planId,omitempty"`
	Labels       *[]string `json:"labels,omitempty"`

	AddDependencies    []string `json:"addDependencies,omitempty"`
	RemoveDependencies []string `json:"removeDependencies,omitempty"`
	AddLabels          []string `json:"addLabels,omitempty"`
	RemoveLabels       []string `json:"removeLabels,omitempty"`

	TaskID       string    `json:"taskId,omitempty"`
	SessionID    string    `json:"sessionId,omitempty"`
	Status       *string   `json:"status,omitempty"`
	Message      string    `json:"message,omitempty"`
	Text         string    `json:"text,omitempty"`
	About        string    `json:"about,omitempty"`
	TaskIDs      *[]string `json:"taskIds,omitempty"`
	Role         string    `json:"role,omitempty"`
	Strategy     string    `json:"strategy,omitempty"`
	Allowed      *[]string `json:"allowedCommands,omitempty"`
	Force        bool      `json:"force,omitempty"`
	Create       bool      `json:"create,omitempty"`
	Recursive    bool      `json:"recursive,omitempty"`
	Failed       bool      `json:"failed,omitempty"`
	SpawnedBy    string    `json:"spawnedBy,omitempty"`
	File         string    `json:"file,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	Queue        string    `json:"queue,omitempty"`
	Before       string    `json:"before,omitempty"`
	After        string    `json:"after,omitempty"`
	First        bool      `json:"first,omitempty"`
	TrustReports bool      `json:"trustReports,omitempty"`
	MaxAttempts  int       `json:"maxAttempts,omitempty"`
	Timeout      int64     `json:"timeout,omitempty"`
	Options      []string  `json:"options,omitempty"`
	InputID      string    `json:"inputId,omitempty"`
	Answer       string    `json:"answer,omitempty"`
	Other        bool      `json:"other,omitempty"`
	Kind         string    `json:"kind,omitempty"`
	Type         string    `json:"type,omitempty"`
	ProjectIDs   []string  `json:"projectIds,omitempty"`
	ExpiresIn    int64     `json:"expiresIn,omitempty"`
	ExpiresAt    int64     `json:"expiresAt,omitempty"`
	KeepChildren bool      `json:"keepChildren,omitempty"`
	SilentFor    int64     `json:"silentFor,omitempty"`
	Lease        int64     `json:"lease,omitempty"`
	Manifest     *string   `json:"manifestDigest,omitempty"`
	TemplateID   string    `json:"templateId,omitempty"`
	WebhookID    string    `json:"webhookId,omitempty"`
	URL          *string   `json:"url,omitempty"`
	Types        *[]string `json:"types,omitempty"`
	NewSecret    bool      `json:"newSecret,omitempty"`
	Skip         bool      `json:"skip,omitempty"`
	Why          string    `json:"why,omitempty"`
	Failures     int       `json:"failures,omitempty"`
	FailingFor   int64     `json:"failingFor,omitempty"`
	Patience     int64     `json:"patience,omitempty"`
	Problem      string    `json:"problem,omitempty"`
	Content      *string   `json:"content,omitempty"`
	Generation   int       `json:"generation,omitempty"`
	Address      string    `json:"address,omitempty"`
	LoginUntil   int64     `json:"loginUntil,omitempty"`
	Runner       string    `json:"runner,omitempty"`

	PermissionMode   string  `json:"permissionMode,omitempty"`
	Network          string  `json:"network,omitempty"`
	WorkingDirectory string  `json:"workingDirectory,omitempty"`
	WorkingDir       *string `json:"workingDir,omitempty"`

	Run          int    `json:"run,omitempty"`
	Host         string `json:"host,omitempty"`
	ExitCode     *int   `json:"exitCode,omitempty"`
	Signal       string `json:"signal,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Turns        int64  `json:"turns,omitempty"`
	Command      string `json:"command,omitempty"`
	Check        string `json:"check,omitempty"`
	Fix          string `json:"fix,omitempty"`
	Detail       string `json:"detail,omitempty"`
	Since        int64  `json:"since,omitempty"`

	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// wish is a command that a client wants to be executed, however often it has to send it.
type wish struct {
	// due says that the server's Leases sent it, not a client.
	due bool

	by       caller
	id       string
	fields   fields
	key      string
	occurred time.Time
}

// said returns when the wish was created, in milliseconds; 0 if it did not wait in an outbox. It is no later than at,
// when the wish is decided, and no earlier than the creation of its session while that has not ended, except that of a
// changed file.
func (w wish) said(before *ground, at int64) int64 {
	if w.occurred.IsZero() {
		return 0
	}
	said := min(w.occurred.UnixMilli(), at)
	if w.by.kind != "session" || w.id == "track-file" {
		return said
	}
	if x := before.model().sessions[w.by.name]; x.ID != "" && !x.Ended {
		said = max(said, x.StartedAt)
	}
	return said
}

func (w wish) body() []byte {
	body, err := json.Marshal(w.fields)
	if err != nil {
		panic(err)
	}
	return body
}

// command returns the product's command, parsed from the JSON that a client sends.
func (w wish) command() (commands.Command, error) { return commands.Parse(w.id, w.body()) }

// asks returns the question to the oracle about the wish, if it is decided at this time.
func (w wish) asks(at int64) documents.Command {
	access := map[string]string{"admin": "admin", "auditor": "auditor", "reader": "read-only"}[w.by.kind]
	return documents.Command{
		ID:         w.id,
		Body:       w.body(),
		Source:     w.by.source(),
		Access:     access,
		Generation: w.by.generation,
		Speaks:     w.by.speaks,
		At:         time.UnixMilli(at),
		Said:       w.occurred,
	}
}

// hash returns the request hash: half the SHA-256 of the command's JSON.
func (w wish) hash() string {
	command, err := w.command()
	if err != nil {
		panic(fmt.Sprintf("%s: %v", w, err))
	}
	text, err := json.Marshal(command)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// eventID returns the id of the event that it becomes in a project, from the definition: UUIDv5(actor, project,
// command, key). The source of a named token has its generation, from the second one on.
func (w wish) eventID(project string) string {
	source := w.by.source()
	if w.by.user() && w.by.generation > 1 {
		source = fmt.Sprintf("%s#%d", source, w.by.generation)
	}
	name := source + "\x00" + project + "\x00" + w.id + "\x00" + w.key
	return uuid.NewSHA1(uuid.MustParse("6d616573-7472-5f65-8e76-656e74730001"), []byte(name)).String()
}

// meaning identifies a wish by caller, command, body and key.
func (w wish) meaning() string {
	return fmt.Sprint(w.by.source(), "#", w.by.speaks, w.by.generation, " ", w.id, " ", w.hash(), " ", w.key)
}

func (w wish) String() string {
	w.fields.Metadata = nil // it would only lengthen the history
	body := string(w.body())
	if len(body) > 200 {
		body = body[:200] + "…"
	}
	return fmt.Sprintf("%s: %s %s key %s", w.by, w.id, body, w.key)
}

func contains(list []string, id string) bool {
	for _, other := range list {
		if other == id {
			return true
		}
	}
	return false
}

func ptr[T any](value T) *T { return &value }
