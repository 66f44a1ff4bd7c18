package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"maestro/internal/lazyregexp"
	"maestro/internal/syntax"
)

// event is a CloudEvent in structured JSON, with the attributes that are judged.
type event struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	DataSchema      string          `json:"dataschema"`
	Project         string          `json:"partitionkey"`
	CausationID     string          `json:"causationid"`
	CorrelationID   string          `json:"correlationid"`
	PrevHash        hash            `json:"prevhash"`
	RequestHash     string          `json:"requesthash"`
	Rules           string          `json:"rules"`
	Authn           string          `json:"authn"`
	OccurredAt      time.Time       `json:"occurredat"`
	TraceParent     string          `json:"traceparent"`
	Data            json.RawMessage `json:"data"`
}

func readEvent(body []byte) (*event, error) {
	e := new(event)
	if err := json.Unmarshal(body, e); err != nil {
		return nil, fmt.Errorf("the body is not an event: %w", syntax.Plain(err))
	}
	return e, nil
}

func decodeData(data json.RawMessage, into fact) error {
	if len(data) == 0 {
		return errors.New("the data is missing")
	}
	return syntax.Plain(json.Unmarshal(data, into))
}

// actor is the actor of an event, parsed from its source.
type actor struct {
	kind string // one of by…, or "" for any other source
	id   string // the name of a user or runner, the id of a session
	// project is the project in a session's source.
	project string
}

const (
	byUser    = "user"
	bySession = "session"
	byRunner  = "runner"
	bySystem  = "system"
)

func parseSource(source string) actor {
	parts := strings.Split(source, "/")
	switch {
	case source == "/system":
		return actor{kind: bySystem}
	case len(parts) == 3 && parts[1] == "users" && parts[2] != "":
		return actor{kind: byUser, id: parts[2]}
	case len(parts) == 3 && parts[1] == "runners" && parts[2] != "":
		return actor{kind: byRunner, id: parts[2]}
	case len(parts) == 5 && parts[0] == "" && parts[1] == "projects" && parts[3] == "sessions":
		return actor{kind: bySession, project: parts[2], id: parts[4]}
	}
	return actor{}
}

func (c *trial) identity() {
	id := c.event.ID
	if _, twice := c.roots[id]; twice {
		c.fault(ruleID, "the id %q was already used by an earlier event", id)
		return
	}
	if id == "" {
		c.fault(ruleEnvelope, "the event has no id")
		return
	}
	c.roots[id] = id
}

func (c *trial) clock() {
	if c.event.Time.Before(c.lastTime) {
		c.fault(ruleTime,
			"its time %s is before the time %s of an earlier event", stamp(c.event.Time), stamp(c.lastTime))
		return
	}
	c.lastTime = c.event.Time
}

// age judges the version of the rules: an older version must not follow a newer one.
func (c *trial) age() {
	version, err := strconv.Atoi(c.event.Rules)
	if err != nil {
		return
	}
	if version < c.rulesVersion {
		c.fault(ruleOlder,
			"it was decided by version %d of the rules, but an earlier event by version %d", version, c.rulesVersion)
		return
	}
	c.rulesVersion = version
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

var requestHash = lazyregexp.New(`^[0-9a-f]{32}$`)

// envelope judges the attributes against the documents and the payload.
func (c *trial) envelope(l line, what fact) {
	e := c.event
	kind, id := what.about()
	wrong := func(attribute, is, want string) {
		if is != want {
			c.fault(ruleEnvelope, "%s is %q, expected %q", attribute, is, want)
		}
	}
	wrong("specversion", e.SpecVersion, "1.0")
	wrong("datacontenttype", e.DataContentType, "application/json")
	wrong("dataschema", e.DataSchema, "urn:maestro:schema:"+e.Type)
	wrong("subject", e.Subject, kind+"/"+id)
	wrong(
		"subject in the stream",
		l.Subject,
		"maestro.ev."+streamToken(e.Project)+"."+streamToken(kind)+"."+streamToken(id),
	)
	if c.by.kind == "" {
		c.fault(ruleEnvelope, "source %q is not a session, a user, a runner or the system", e.Source)
	}
	if !requestHash().MatchString(e.RequestHash) {
		c.fault(ruleEnvelope, "requesthash %q is not 32 hexadecimal digits", e.RequestHash)
	}
	if e.Rules == "" {
		c.fault(ruleEnvelope, "the version of the rules is missing")
	}
	// Nobody authenticates the system.
	unasked := e.Authn == "" && c.by.kind == bySystem
	if e.Authn != "token" && e.Authn != "socket" && e.Authn != "none" && !unasked {
		c.fault(ruleEnvelope, "authn is %q, expected token, socket or none", e.Authn)
	}
}

// exact judges a body beyond its meaning: attributes that no document names, and times in another format.
func (c *trial) exact(body []byte) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(new(event)); err != nil {
		c.fault(ruleEnvelope, "it has undocumented fields: %s", err)
	}
	var written struct{ Time, OccurredAt string }
	_ = json.Unmarshal(body, &written) // readEvent has read it
	if written.Time != stamp(c.event.Time) {
		c.fault(ruleEnvelope, "time is written as %q, expected %q", written.Time, stamp(c.event.Time))
	}
	if written.OccurredAt != "" && written.OccurredAt != stamp(c.event.OccurredAt) {
		c.fault(ruleEnvelope, "occurredat is written as %q, expected %q", written.OccurredAt, stamp(c.event.OccurredAt))
	}
}

// streamToken encodes a part of a subject in the stream: every byte outside [A-Za-z0-9_-] as =XX, nothing as "=".
func streamToken(id string) string {
	if id == "" {
		return "="
	}
	var b strings.Builder
	for _, x := range []byte(id) {
		switch {
		case 'a' <= x && x <= 'z', 'A' <= x && x <= 'Z', '0' <= x && x <= '9', x == '_', x == '-':
			b.WriteByte(x)
		default:
			fmt.Fprintf(&b, "=%02X", x)
		}
	}
	return b.String()
}

// causes judges causationid and correlationid, and records where this event's chain began.
func (c *trial) causes() {
	e := c.event
	if e.CausationID == "" {
		if e.CorrelationID != "" {
			c.fault(ruleCause, "it has a correlationid but no causationid")
		}
		if c.by.kind == bySession {
			c.fault(ruleCause, "it comes from a session, but has no causationid")
		}
		return
	}
	root, there := c.roots[e.CausationID]
	switch {
	case !there || e.CausationID == e.ID:
		c.fault(ruleCause, "causationid %q is not the id of an earlier event", e.CausationID)
	case e.CorrelationID != root:
		c.fault(ruleCause, "correlationid is %q, but the chain of causes began with %q", e.CorrelationID, root)
	}
	if e.CorrelationID != "" {
		c.roots[e.ID] = e.CorrelationID
	}
}
