package projections

import "slices"

// links are the views that mention objects, by the object that they mention. They are those of the present state,
// however long they have been followed.
type links struct {
	byObject map[string]map[string]struct{}
	objects  map[string][]string
}

// set notes which objects a view mentions, instead of those that it mentioned before. It keeps the list.
func (l *links) set(view string, objects []string) {
	if l.byObject == nil {
		l.byObject, l.objects = map[string]map[string]struct{}{}, map[string][]string{}
	}
	before := l.objects[view]
	if slices.Equal(before, objects) {
		return
	}
	for _, object := range before {
		delete(l.byObject[object], view)
		if len(l.byObject[object]) == 0 {
			delete(l.byObject, object)
		}
	}
	for _, object := range objects {
		if l.byObject[object] == nil {
			l.byObject[object] = map[string]struct{}{}
		}
		l.byObject[object][view] = struct{}{}
	}
	if l.objects[view] = objects; len(objects) == 0 {
		delete(l.objects, view)
	}
}

// of returns the views that mention an object.
func (l *links) of(object string) map[string]struct{} { return l.byObject[object] }
