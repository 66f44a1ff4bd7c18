package commands

import "reflect"

// found is where a scanned body has the value of one of its fields.
type found struct{ field, from, to int }

// readPlain fills a struct from a body of texts and lists of texts without escapes, as nearly all are, which the
// scanner walked over. It reports false for any other body, which encoding/json reads then.
func (s *bodyScanner) readPlain(known *form, into any) bool {
	if !s.whole || s.b[0] != '{' {
		return false
	}
	v := reflect.ValueOf(into).Elem()
	for _, f := range s.found {
		raw, at := s.b[f.from:f.to], &known.places[f.field]
		switch at.kind {
		case textPlace:
			text, ok := plainText(raw)
			if !ok {
				return false
			}
			v.FieldByIndex(at.index).SetString(text)
		case textsPlace:
			texts, ok := plainTexts(raw)
			if !ok {
				return false
			}
			*v.FieldByIndex(at.index).Addr().Interface().(*[]string) = texts
		case otherPlace:
			return false
		}
	}
	return true
}

// plainText returns what a JSON string without escapes says.
func plainText(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	for _, c := range raw {
		if c < ' ' || c == '\\' || c == '"' {
			return "", false
		}
	}
	return string(raw), true
}

// plainTexts returns what a JSON list of such strings says. The scanner has found the list well formed.
func plainTexts(raw []byte) ([]string, bool) {
	if raw[0] != '[' {
		return nil, false
	}
	texts := make([]string, 0, 1)
	for i := 1; i < len(raw)-1; {
		if raw[i] != '"' {
			if raw[i] > ' ' && raw[i] != ',' {
				return nil, false
			}
			i++
			continue
		}
		end := i + 1
		for end < len(raw) && raw[end] != '"' {
			end++
		}
		text, ok := plainText(raw[i:min(end+1, len(raw))])
		if !ok {
			return nil, false
		}
		texts, i = append(texts, text), end+1
	}
	return texts, true
}
