package events

import (
	"fmt"
	"slices"
	"strings"
)

// Description says in words what an event did, for people, in one line. Its forms differ in what the reader sees beside
// it, and in whether the event has happened.
type Description struct {
	done, do string // the verb: "deleted", "delete"
	rest     []phrase
}

// phrase is a part of a description. A reader who knows what the id names sees the short form. forced marks the words
// for what was done in spite of a warning.
type phrase struct {
	full, id, short string
	// ids are several objects that it names.
	ids    []string
	forced bool
}

// String describes what happened: "deleted task task_1".
func (d Description) String() string { return d.in(d.done, "") }

// ToDo describes it as something to do: "delete task task_1".
func (d Description) ToDo() string { return d.in(d.do, "") }

// About describes what happened to the object with an id, for a reader who sees the id beside it: "deleted".
func (d Description) About(id string) string { return d.in(d.done, id) }

// Names reports whether [Description.About] an object says it in other words than String.
func (d Description) Names(id string) bool {
	return slices.ContainsFunc(d.rest, func(p phrase) bool { return id != "" && p.id == id })
}

// Naming is String with each id as show shows it. What people and agents wrote stays as they wrote it, also if it
// contains ids.
func (d Description) Naming(show func(id string) string) string {
	var words strings.Builder
	words.WriteString(d.done)
	for _, p := range d.rest {
		ids := p.ids
		if p.id != "" {
			ids = []string{p.id}
		}
		before := strings.TrimSuffix(p.full, strings.Join(ids, ", "))
		words.WriteString(before)
		for i, id := range ids {
			if i > 0 {
				words.WriteString(", ")
			}
			words.WriteString(show(id))
		}
	}
	return words.String()
}

// InSpiteOf adds to something forced what stood against it.
func (d Description) InSpiteOf(what string) Description {
	rest := make([]phrase, len(d.rest))
	for i, p := range d.rest {
		if p.forced {
			p.full = " (forced: " + what + ")"
		}
		rest[i] = p
	}
	d.rest = rest
	return d
}

func (d Description) in(verb, known string) string {
	var words strings.Builder
	words.WriteString(verb)
	for _, p := range d.rest {
		if known != "" && p.id == known {
			words.WriteString(p.short)
		} else {
			words.WriteString(p.full)
		}
	}
	return words.String()
}

// describe returns a description. The empty parts are left out.
func describe(done, do string, rest ...phrase) Description {
	return Description{done: done, do: do, rest: rest}
}

// text is a part that names no object whose id the reader may see beside it.
func text(words string) phrase { return phrase{full: words} }

// named names an object by its id. A reader who sees the id beside it reads short instead.
func named(before, id, short string) phrase {
	return phrase{full: before + id, id: id, short: short}
}

// listed names objects. A reader who sees the id of the only one beside them reads short instead.
func listed(before string, ids []string, short string) phrase {
	switch len(ids) {
	case 0:
		return phrase{}
	case 1:
		return named(before, ids[0], short)
	}
	return allOf(before, ids)
}

// besides names an object besides the one that the description is about, whose id every reader sees; "" for none.
func besides(before, id string) phrase {
	if id == "" {
		return phrase{}
	}
	return allOf(before, []string{id})
}

// allOf names objects whose ids every reader sees.
func allOf(before string, ids []string) phrase {
	if len(ids) == 0 {
		return phrase{}
	}
	return phrase{full: before + strings.Join(ids, ", "), ids: ids}
}

// quoted is a part in quotes.
func quoted(words string) phrase { return text(fmt.Sprintf(" %q", words)) }

// inQueue names the queue of an item.
func inQueue(queue string) phrase { return named(" in queue ", queue, "") }

// prefixed is an empty part for an empty text.
func prefixed(prefix, words string) phrase {
	if words == "" {
		return phrase{}
	}
	return text(prefix + words)
}

// forced marks what was done in spite of a warning.
func forced(is bool) phrase {
	p := when(is, " (forced)")
	p.forced = is
	return p
}

// closed closes the parenthesis after a text, if there is one.
func closed(words string) string {
	if words == "" {
		return ""
	}
	return words + ")"
}

func when(is bool, words string) phrase {
	if !is {
		return phrase{}
	}
	return text(words)
}
