// XML of EC2's query API.
#include "provisioning/providers/xml.h"

#include <gtest/gtest.h>

namespace kedge::provisioning::xml {
namespace {

TEST(Xml, GivesElementsByTheirPath) {
  const Node root = parse("<?xml version=\"1.0\"?>\n<!-- a --><aws:Answer xmlns:aws=\"http://x\"><state><name> running </name></state>\n"
                          "<set><item><id>1</id></item><item><id>2</id></item></set><empty/></aws:Answer>");
  EXPECT_EQ(root.name, "Answer");
  EXPECT_EQ(root.at("state/name").text, " running ");
  ASSERT_EQ(root.at("set").children.size(), 2U);
  EXPECT_EQ(root.at("set").children[1].value("id"), "2");
  EXPECT_EQ(root.value("empty"), "");
  EXPECT_EQ(root.value("state/nothing/at/all"), "");
}

TEST(Xml, ResolvesEntitiesAndData) {
  const Node root = parse("<a><b>1 &lt; 2 &amp; &#65;&#x42;&#xe9;</b><c><![CDATA[<x>]]></c></a>");
  EXPECT_EQ(root.value("b"), "1 < 2 & AB\xC3\xA9");
  EXPECT_EQ(root.value("c"), "<x>");
}

TEST(Xml, IsEmptyForWhatIsNone) {
  for (const char* text : {"", "no", "<a>", "<a></b>", "<a><b></a>", "{\"json\": 1}"}) EXPECT_EQ(parse(text).name, "") << text;
  std::string deep;
  for (int i = 0; i < 70; ++i) deep += "<a>";
  for (int i = 0; i < 70; ++i) deep += "</a>";
  EXPECT_EQ(parse(deep).name, "");
}

TEST(Xml, ReadsNoEntitiesOfADocumentType) {
  const Node root = parse("<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>");
  EXPECT_EQ(root.text.find("root:"), std::string::npos);
}

}  // namespace
}  // namespace kedge::provisioning::xml
