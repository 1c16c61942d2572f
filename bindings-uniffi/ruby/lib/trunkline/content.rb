# frozen_string_literal: true

module Trunkline
  # Content with bytes.
  module HasBytes
    # @return [String] the decoded bytes
    def bytes = (self["data"] || self["blob"] || "").unpack1("m")
  end

  # Content with text blocks.
  module HasText
    # @return [String] the text blocks, joined by newlines
    def text = Array(content).grep(TextContent).map(&:text).grep(String).join("\n")
  end

  # A value that must stay secret.
  module HasToken
    def inspect = "#<#{self.class.name}>"
  end

  [ImageContent, AudioContent, ResourceContents].each { |model| model.include(HasBytes) }
  [CallToolResult, CreateMessageResult].each { |model| model.include(HasText) }
  [AccessToken, Token].each { |model| model.prepend(HasToken) }

  # The message of a user, for prompts: content, or a string as text.
  # @return [PromptMessage]
  def self.user(content) = message("user", content)

  # The message of an assistant, for prompts: content, or a string as text.
  # @return [PromptMessage]
  def self.assistant(content) = message("assistant", content)

  # @api private
  def self.message(role, content)
    PromptMessage.new(role: role, content: content.is_a?(String) ? TextContent.new(text: content) : content)
  end
  private_class_method :message
end
