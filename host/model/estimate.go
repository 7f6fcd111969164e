package model

import "unicode/utf8"

const (
	charsPerToken = 4
	// messageTokens is what a role and its separators cost with the usual
	// templates, mediaTokens what an image or a file costs at least.
	messageTokens = 4
	mediaTokens   = 256
)

// EstimateTokens guesses how many tokens req costs, for providers that do not
// say: a token for each 4 characters of messages, files that are text and tools,
// rounded up for each message and each tool, 4 more for each message, and 256 for an
// image or another file. It is for budgets that must bite, not for bills.
func EstimateTokens(req *Request) int64 {
	var sum int64
	for i := range req.Messages {
		sum += EstimateMessage(&req.Messages[i])
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		sum += tokens(utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Parameters))
	}
	return sum
}

// EstimateMessage is [EstimateTokens] for one message.
func EstimateMessage(m *Message) int64 {
	chars := utf8.RuneCountInString(m.Reasoning)
	var media int64
	for i := range m.Content {
		part := &m.Content[i]
		chars += utf8.RuneCountInString(part.Text)
		switch {
		case part.Type == TextPart:
		case part.IsTextFile():
			chars += utf8.RuneCount(part.Data)
		default:
			media += mediaTokens
		}
	}
	for i := range m.ToolCalls {
		chars += utf8.RuneCountInString(m.ToolCalls[i].Name) + utf8.RuneCount(m.ToolCalls[i].Arguments)
	}
	return tokens(chars) + messageTokens + media
}

func tokens(chars int) int64 { return int64((chars + charsPerToken - 1) / charsPerToken) }
