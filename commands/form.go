package commands

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"maestro/internal/safetext"
)

// form describes the bodies of one type.
type form struct {
	fields   []string
	pointers []string // one for each field
	counts   map[string]string
	places   []place // one for each field
	// flat says that no field holds an object, so that all names in a body are those of fields.
	flat bool
	// texts says which fields hold only texts: lists of them, or objects.
	texts []bool
}

// forms caches the form of each type. There is at most one per command.
var forms sync.Map

// formOf returns the form of a pointer's element type.
func formOf(into any) *form {
	t := reflect.TypeOf(into).Elem()
	if known, ok := forms.Load(t); ok {
		return known.(*form)
	}
	f := &form{fields: appendFields(nil, t), counts: countsOfTypes()[t], flat: true}
	for _, name := range f.fields {
		f.pointers = append(f.pointers, "/"+safetext.Printable(name))
	}
	f.places = placesOf(t, f.fields)
	f.texts = textsOf(t, f.fields)
	for _, field := range reflect.VisibleFields(t) {
		f.flat = f.flat && (field.Anonymous || !field.IsExported() || isFlat(field.Type))
	}
	forms.Store(t, f)
	return f
}

// isFlat reports whether a type's JSON never contains an object.
func isFlat(t reflect.Type) bool {
	for !t.Implements(unmarshaler) && !reflect.PointerTo(t).Implements(unmarshaler) {
		switch t.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
			return true
		case reflect.Pointer, reflect.Slice:
			t = t.Elem()
		default:
			return false
		}
	}
	return false
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// place is the location of a body's field in its struct.
type place struct {
	index []int
	kind  placeKind
}

type placeKind int

const (
	otherPlace placeKind = iota
	textPlace
	textsPlace
)

var unmarshalsText = reflect.TypeFor[encoding.TextUnmarshaler]()

// placesOf returns the places of fields, by the names of appendFields.
func placesOf(t reflect.Type, names []string) []place {
	named := map[string]place{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.Anonymous && options != "string" {
			named[name] = placeOf(field)
		}
	}
	places := make([]place, len(names))
	for i, name := range names {
		places[i] = named[name]
	}
	return places
}

func placeOf(field reflect.StructField) place {
	p := place{index: field.Index}
	switch t := field.Type; {
	case t == reflect.TypeFor[[]string]():
		p.kind = textsPlace
	case t.Kind() == reflect.String && isFlat(t) && !reflect.PointerTo(t).Implements(unmarshalsText):
		p.kind = textPlace
	}
	return p
}

// textsOf says of each name whether its value is a list of texts, or an object of them.
func textsOf(t reflect.Type, names []string) []bool {
	texts := make([]bool, len(names))
	for _, field := range reflect.VisibleFields(t) {
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() != reflect.Slice && kind.Kind() != reflect.Map || kind.Elem().Kind() != reflect.String {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if i := slices.Index(names, name); i >= 0 {
			texts[i] = true
		}
	}
	return texts
}
