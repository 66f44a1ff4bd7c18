package sandbox

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic evaluates an arithmetic expression: its number, or someName if that is not constant.
func (j *judge) arithmetic(e *env, x syntax.ArithmExpr) string {
	n, ok := j.number(e, x)
	if !ok {
		return someName
	}
	return strconv.FormatInt(n, 10)
}

// number evaluates an arithmetic expression; false if it is not constant. Commands in it are judged.
func (j *judge) number(e *env, x syntax.ArithmExpr) (int64, bool) {
	if x == nil || !j.enter() {
		return 0, false
	}
	defer j.leave()
	switch x := x.(type) {
	case *syntax.Word:
		return j.operand(e, x)
	case *syntax.ParenArithm:
		return j.number(e, x.X)
	case *syntax.UnaryArithm:
		n, ok := j.number(e, x.X)
		switch x.Op {
		case syntax.Inc, syntax.Dec:
			step := int64(1)
			if x.Op == syntax.Dec {
				step = -1
			}
			j.setNumber(e, x.X, n+step, ok)
			if !x.Post {
				n += step
			}
			return n, ok
		case syntax.Minus:
			return -n, ok
		case syntax.Plus:
			return n, ok
		case syntax.BitNegation:
			return ^n, ok
		default:
			return truth(n == 0), ok
		}
	case *syntax.BinaryArithm:
		return j.binary(e, x)
	default:
		return 0, false
	}
}

func truth(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// operand evaluates a number or a variable.
func (j *judge) operand(e *env, word *syntax.Word) (int64, bool) {
	text := strings.TrimSpace(j.literal(e, word))
	if syntax.ValidName(text) {
		v := e.find(text)
		if v == nil {
			return 0, false
		}
		text, _ = e.value(text)
		if text == "" {
			return 0, true
		}
	}
	if base, digits, ok := strings.Cut(text, "#"); ok {
		if b, err := strconv.Atoi(base); err == nil && b >= 2 && b <= 36 {
			n, err := strconv.ParseInt(digits, b, 64)
			return n, err == nil
		}
		return 0, false
	}
	if rest, ok := strings.CutPrefix(text, "0x"); ok {
		n, err := strconv.ParseInt(rest, 16, 64)
		return n, err == nil
	}
	if len(text) > 1 && text[0] == '0' {
		n, err := strconv.ParseInt(text, 8, 64)
		return n, err == nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// setNumber assigns to the variable that an expression is.
func (j *judge) setNumber(e *env, x syntax.ArithmExpr, n int64, known bool) {
	word, ok := x.(*syntax.Word)
	if !ok {
		return
	}
	name := word.Lit()
	if name == "" {
		if len(word.Parts) == 1 {
			if p, ok := word.Parts[0].(*syntax.ParamExp); ok && p.Param != nil {
				name = p.Param.Value
			}
		}
	}
	value := someName
	if known {
		value = strconv.FormatInt(n, 10)
	}
	j.setting(name, value)
	if syntax.ValidName(name) {
		e.set(name, value)
	}
}

func (j *judge) binary(e *env, x *syntax.BinaryArithm) (int64, bool) {
	if x.Op == syntax.TernQuest {
		n, ok := j.number(e, x.X)
		either, is := x.Y.(*syntax.BinaryArithm)
		if !is {
			return 0, false
		}
		a, ok1 := j.number(e, either.X)
		b, ok2 := j.number(e, either.Y)
		if n != 0 {
			return a, ok && ok1
		}
		return b, ok && ok2
	}
	right, ok2 := j.number(e, x.Y)
	if x.Op == syntax.Assgn {
		j.setNumber(e, x.X, right, ok2)
		return right, ok2
	}
	left, ok1 := j.number(e, x.X)
	ok := ok1 && ok2
	op, assigns := x.Op, true
	switch x.Op {
	case syntax.AddAssgn:
		op = syntax.Add
	case syntax.SubAssgn:
		op = syntax.Sub
	case syntax.MulAssgn:
		op = syntax.Mul
	case syntax.QuoAssgn:
		op = syntax.Quo
	case syntax.RemAssgn:
		op = syntax.Rem
	case syntax.AndAssgn:
		op = syntax.And
	case syntax.OrAssgn:
		op = syntax.Or
	case syntax.XorAssgn:
		op = syntax.Xor
	case syntax.ShlAssgn:
		op = syntax.Shl
	case syntax.ShrAssgn:
		op = syntax.Shr
	default:
		assigns = false
	}
	n, can := apply(op, left, right)
	ok = ok && can
	if assigns {
		j.setNumber(e, x.X, n, ok)
	}
	return n, ok
}

// apply applies an operator to two numbers.
func apply(op syntax.BinAritOperator, a, b int64) (int64, bool) {
	switch op {
	case syntax.Add:
		return a + b, true
	case syntax.Sub:
		return a - b, true
	case syntax.Mul:
		return a * b, true
	case syntax.Quo, syntax.Rem:
		if b == 0 || b == -1 {
			return 0, false
		}
		if op == syntax.Quo {
			return a / b, true
		}
		return a % b, true
	case syntax.Pow:
		n := int64(1)
		for range min(b, 64) {
			n *= a
		}
		return n, b >= 0 && b <= 64
	case syntax.Eql:
		return truth(a == b), true
	case syntax.Neq:
		return truth(a != b), true
	case syntax.Lss:
		return truth(a < b), true
	case syntax.Gtr:
		return truth(a > b), true
	case syntax.Leq:
		return truth(a <= b), true
	case syntax.Geq:
		return truth(a >= b), true
	case syntax.And:
		return a & b, true
	case syntax.Or:
		return a | b, true
	case syntax.Xor:
		return a ^ b, true
	case syntax.Shl:
		return a << uint(b&63), true
	case syntax.Shr:
		return a >> uint(b&63), true
	case syntax.AndArit:
		return truth(a != 0 && b != 0), true
	case syntax.OrArit:
		return truth(a != 0 || b != 0), true
	case syntax.Comma:
		return b, true
	default:
		return 0, false
	}
}
