// A table with numbers, categories and missing cells, uploaded by this program: columns of each kind go their own way.
#include <kedge/client.h>

#include <iostream>

int main(int argc, char** argv) try {
  auto session = kedge::connect();
  session.upload("passengers", argc > 1 ? argv[1] : "titanic.csv", "csv");
  const auto passengers = kedge::stored("passengers").target("survived");
  for (const auto& column : session.preview(passengers).columns)
    if (column.missing > 0) std::cout << column.name << ": " << column.type << ", " << column.missing << " cells are missing\n";
  auto job = session.submit(
      passengers,
      kedge::pipeline(
          kedge::ColumnTransformer{.transformers = {
              {"numbers", kedge::pipeline(kedge::SimpleImputer{.strategy = "median"}, kedge::StandardScaler{}), kedge::columns_of_type("number")},
              {"class", kedge::OneHotEncoder{}, {"pclass"}},
              {"sex", kedge::pipeline(kedge::SimpleImputer{.strategy = "most_frequent"}, kedge::OneHotEncoder{.handle_unknown = "ignore"}), {"sex"}}}},
          kedge::LogisticRegression{}),
      kedge::cross_validate{.cv = 5, .scoring = {"accuracy"}});
  std::cout << "mean accuracy " << job.result().mean("accuracy") << '\n';
} catch (const kedge::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
