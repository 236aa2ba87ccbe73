package permission

import (
	"strconv"
	"strings"
)

// number returns the plain form of a JSON number, `1000` for `1e3` and `1.0e3`, or "" where s is none or too long
// written out. No digit is lost.
func number(s string) string {
	const most = 64
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return ""
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	sign := ""
	if m, ok := strings.CutPrefix(mantissa, "-"); ok {
		sign, mantissa = "-", m
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if len(digits) == 0 || len(digits) > most || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	point := len(whole)
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > most || n < -most {
			return ""
		}
		point += n
	}
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if n := point - len(digits); n > 0 {
		digits += strings.Repeat("0", n)
	}
	whole, fraction = strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")
	if whole == "" {
		whole = "0"
	}
	switch {
	case fraction != "":
		return sign + whole + "." + fraction
	case whole == "0":
		return "0"
	}
	return sign + whole
}
