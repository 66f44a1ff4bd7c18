package events

import "strings"

// SubjectPrefix is the prefix of every stored event's subject, LivePrefix that under which NATS clients see it.
const (
	SubjectPrefix = "maestro.ev."
	LivePrefix    = "maestro.live."
)

// DeniedPrefix is the prefix of every recorded refusal's subject.
const DeniedPrefix = "maestro.denied."

// DeniedSubject returns "maestro.denied.<actor>.<slot>", both written as in [Subject].
func DeniedSubject(actor, slot string) string {
	var b strings.Builder
	b.WriteString(DeniedPrefix)
	writeToken(&b, actor)
	b.WriteByte('.')
	writeToken(&b, slot)
	return b.String()
}

// Subject returns "maestro.ev.<project>.<aggregate>.<id>". Every byte outside [A-Za-z0-9_-] is written =XX, so no id,
// whatever its source, can contain a separator or a wildcard. An empty part is written "=".
func Subject(project, aggregate, id string) string {
	var b strings.Builder
	b.Grow(len(SubjectPrefix) + len(project) + len(aggregate) + len(id) + 2)
	b.WriteString(SubjectPrefix)
	writeToken(&b, project)
	b.WriteByte('.')
	writeToken(&b, aggregate)
	b.WriteByte('.')
	writeToken(&b, id)
	return b.String()
}

// LiveSubject converts the subject of a stored event to the one under which NATS clients see it.
func LiveSubject(subject string) string {
	return LivePrefix + strings.TrimPrefix(subject, SubjectPrefix)
}

// LiveSubjects returns the subject of all events of a project that NATS clients see.
func LiveSubjects(project string) string {
	var b strings.Builder
	b.WriteString(LivePrefix)
	writeToken(&b, project)
	b.WriteString(".>")
	return b.String()
}

func writeToken(b *strings.Builder, id string) {
	const hexDigits = "0123456789ABCDEF"
	if id == "" {
		b.WriteByte('=')
		return
	}
	for i := range len(id) {
		c := id[i]
		if isIDByte(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('=')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
}

func isIDByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
